import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, callRaw } from '../app/call.ts'
import { readStoredObject, writeStored } from '../app/local-storage.ts'

/** Models offered for each type, by its number. */
type ModelsByType = Record<string, string[]>

const noModels: string[] = []

const isText = (value: unknown): value is string => typeof value === 'string'

/** Keeps only lists: a type without models is null, and a stored value may be anything. */
export function toModelsByType(found: Readonly<Record<string, unknown>> | null): ModelsByType {
  const lists = Object.entries(found ?? {}).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  )
  return Object.fromEntries(lists.map(([type, models]) => [type, models.filter(isText)]))
}

async function loadModelsByType(signal: AbortSignal): Promise<ModelsByType> {
  const models = toModelsByType(await call('GET /api/models', {}, { signal }))
  writeStored('channel_models', JSON.stringify(models))
  return models
}

/** Default models of a type; those of an earlier visit until they are loaded. */
export function useTypeModels(): (type: number) => string[] {
  // Not a placeholder: that would disappear if loading fails.
  const [stored] = useState(() => toModelsByType(readStoredObject('channel_models')))
  const { data = stored } = useQuery({
    queryKey: ['models-by-type'],
    queryFn: ({ signal }) => loadModelsByType(signal),
    staleTime: Infinity,
  })
  return (type) => data[type] ?? noModels
}

/** All models with a name known to the server. */
export function useAllModels(): string[] {
  const { data } = useQuery({
    queryKey: ['known-models'],
    queryFn: async ({ signal }) => {
      const { data: listed } = await callRaw('GET /api/channel/models', {}, { signal })
      return [...new Set(listed.map(({ id }) => id))]
    },
    staleTime: Infinity,
  })
  return data ?? noModels
}
