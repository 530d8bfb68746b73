/** Tables and their columns, as a database has them. */
export type FoundTables = ReadonlyMap<string, ReadonlySet<string>>
