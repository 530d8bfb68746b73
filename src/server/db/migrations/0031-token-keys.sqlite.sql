-- First and last characters of a key that is stored as a hash only.
ALTER TABLE tokens ADD COLUMN gh_key_hint text;
-- The key before the last rotation, as `key` held it, and until when it works.
ALTER TABLE tokens ADD COLUMN gh_previous_key text;
ALTER TABLE tokens ADD COLUMN gh_previous_key_until integer;
-- The expiry of which the owner was reminded.
ALTER TABLE tokens ADD COLUMN gh_expiry_reminded integer;
CREATE INDEX gh_tokens_previous_key ON tokens (gh_previous_key) WHERE gh_previous_key IS NOT NULL;
