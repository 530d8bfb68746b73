-- Deleted accounts: their identities are free, their access tokens end.
DELETE FROM external_identities WHERE user_id IN (SELECT id FROM users WHERE status = 3);
DELETE FROM access_tokens WHERE user_id IN (SELECT id FROM users WHERE status = 3);

-- A WeChat identity counts for the helper server that named it: its subject is that server's
-- address, a space, and the id. Those stored without a server are bound to the present one, adopted
-- ones too. Without a present server they stay as they are until their next sign-in.
UPDATE external_identities
SET subject = (SELECT rtrim(value, '/') FROM options WHERE key = 'WeChatServerAddress') || ' ' || subject
WHERE provider = 'wechat'
  AND EXISTS (SELECT 1 FROM options WHERE key = 'WeChatServerAddress' AND rtrim(value, '/') <> '');
INSERT INTO external_identities (provider, subject, user_id, created_at)
SELECT 'wechat', rtrim(server.value, '/') || ' ' || users.wechat_id, min(users.id), unixepoch()
FROM users JOIN options AS server ON server.key = 'WeChatServerAddress' AND rtrim(server.value, '/') <> ''
WHERE coalesce(users.wechat_id, '') <> '' AND coalesce(users.status, 0) <> 3
  AND NOT EXISTS (SELECT 1 FROM external_identities AS bound
    WHERE bound.provider = 'wechat' AND bound.user_id = users.id)
GROUP BY users.wechat_id, server.value HAVING count(*) = 1
ON CONFLICT DO NOTHING;

-- What names look like, so that a name that looks like another one's is refused. The rows are made
-- when the database is opened: the keys cannot be computed here.
CREATE TABLE name_keys (
  name_key text NOT NULL,
  -- 0 for the user who holds the key; the user's id for one who was adopted with the same key.
  twin integer NOT NULL,
  user_id integer NOT NULL,
  -- The name that the key was made from.
  username text NOT NULL,
  PRIMARY KEY (name_key, twin)
);
CREATE INDEX gh_name_keys_user ON name_keys (user_id);
