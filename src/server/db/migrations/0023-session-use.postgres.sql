-- When a session was last used, for the idle timeout (option SessionIdleMinutes); seconds, written at
-- most once a minute.
ALTER TABLE sessions ADD COLUMN used_at bigint NOT NULL DEFAULT 0;
UPDATE sessions SET used_at = created_at;
