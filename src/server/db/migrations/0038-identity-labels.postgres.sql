-- Name of the person at providers that have no column of their own in users; for display.
ALTER TABLE external_identities ADD COLUMN label text NOT NULL DEFAULT '';
