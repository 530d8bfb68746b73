-- Each audit entry carries the hash of the one before, so that a removed or changed one shows.
-- Entries of earlier versions have no hash.
ALTER TABLE audit ADD COLUMN chain text NOT NULL DEFAULT 'change';
ALTER TABLE audit ADD COLUMN prev_hash text;
ALTER TABLE audit ADD COLUMN hash text;
CREATE INDEX gh_audit_chain ON audit (chain, id);

-- change: what was changed or read. refusal: failed sign-ins and refused calls, kept for another time.
CREATE TABLE audit_chains (
  name text PRIMARY KEY,
  -- Hash of the newest entry that retention has deleted; empty if none.
  anchor text NOT NULL,
  -- Hash of the newest entry; empty if there was none.
  head text NOT NULL
);
