-- Ids of the keys that a server can decrypt stored secrets with, separated by commas.
ALTER TABLE nodes ADD COLUMN secrets_keys text;
