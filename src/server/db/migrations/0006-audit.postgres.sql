-- What admins changed: who, from where, in which call, and the members before and after. Append-only.
CREATE TABLE audit (
  id bigserial PRIMARY KEY,
  created_at bigint NOT NULL,
  actor_id bigint NOT NULL,
  actor_name text NOT NULL,
  address text NOT NULL,
  request_id text NOT NULL,
  -- noun.verb
  action text NOT NULL,
  target_id bigint NOT NULL,
  target_name text NOT NULL,
  -- JSON of the members that changed, secrets masked; NULL: there was (or is) nothing.
  old_values text,
  new_values text
);
CREATE INDEX gh_audit_time ON audit (created_at, id);
CREATE INDEX gh_audit_actor ON audit (actor_name, created_at, id);
CREATE INDEX gh_audit_target ON audit (target_name, created_at, id);
CREATE INDEX gh_audit_target_id ON audit (target_id, created_at, id);
CREATE INDEX gh_audit_action ON audit (action, created_at, id);
