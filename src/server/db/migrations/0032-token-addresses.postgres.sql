-- Client address of the last settled call of a token.
ALTER TABLE tokens ADD COLUMN gh_last_ip text;
