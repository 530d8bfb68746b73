-- The seven tables of the One API family, column for column. IF NOT EXISTS: an adopted database already has them.
-- channels.test_model is ours and its relatives'; an adopted database that lacks it got it before.
CREATE TABLE IF NOT EXISTS channels (
  id bigserial PRIMARY KEY,
  type bigint DEFAULT 0,
  "key" text,
  status bigint DEFAULT 1,
  name text,
  weight bigint DEFAULT 0,
  created_time bigint,
  test_time bigint,
  response_time bigint,
  base_url text DEFAULT '',
  other text,
  balance decimal,
  balance_updated_time bigint,
  models text,
  "group" text DEFAULT 'default',
  used_quota bigint DEFAULT 0,
  model_mapping text DEFAULT '',
  priority bigint DEFAULT 0,
  config text,
  system_prompt text,
  test_model text
);
CREATE INDEX IF NOT EXISTS idx_channels_name ON channels (name);

CREATE TABLE IF NOT EXISTS tokens (
  id bigserial PRIMARY KEY,
  user_id bigint,
  "key" char(48),
  status bigint DEFAULT 1,
  name text,
  created_time bigint,
  accessed_time bigint,
  expired_time bigint DEFAULT -1,
  remain_quota bigint DEFAULT 0,
  unlimited_quota boolean DEFAULT false,
  used_quota bigint DEFAULT 0,
  models text,
  subnet text DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_tokens_key ON tokens ("key");
CREATE INDEX IF NOT EXISTS idx_tokens_name ON tokens (name);

CREATE TABLE IF NOT EXISTS users (
  id bigserial PRIMARY KEY,
  username text,
  password text NOT NULL,
  display_name text,
  role bigint DEFAULT 1,
  status bigint DEFAULT 1,
  email text,
  github_id text,
  wechat_id text,
  lark_id text,
  oidc_id text,
  access_token char(32),
  quota bigint DEFAULT 0,
  used_quota bigint DEFAULT 0,
  request_count bigint DEFAULT 0,
  "group" text DEFAULT 'default',
  aff_code varchar(32),
  inviter_id bigint,
  CONSTRAINT uni_users_username UNIQUE (username)
);
CREATE INDEX IF NOT EXISTS idx_users_username ON users (username);
CREATE INDEX IF NOT EXISTS idx_users_display_name ON users (display_name);
CREATE INDEX IF NOT EXISTS idx_users_email ON users (email);
CREATE INDEX IF NOT EXISTS idx_users_git_hub_id ON users (github_id);
CREATE INDEX IF NOT EXISTS idx_users_we_chat_id ON users (wechat_id);
CREATE INDEX IF NOT EXISTS idx_users_lark_id ON users (lark_id);
CREATE INDEX IF NOT EXISTS idx_users_oidc_id ON users (oidc_id);
CREATE UNIQUE INDEX IF NOT EXISTS idx_users_access_token ON users (access_token);
CREATE UNIQUE INDEX IF NOT EXISTS idx_users_aff_code ON users (aff_code);
CREATE INDEX IF NOT EXISTS idx_users_inviter_id ON users (inviter_id);

CREATE TABLE IF NOT EXISTS options (
  "key" text PRIMARY KEY,
  value text
);

CREATE TABLE IF NOT EXISTS redemptions (
  id bigserial PRIMARY KEY,
  user_id bigint,
  "key" char(32),
  status bigint DEFAULT 1,
  name text,
  quota bigint DEFAULT 100,
  created_time bigint,
  redeemed_time bigint
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_redemptions_key ON redemptions ("key");
CREATE INDEX IF NOT EXISTS idx_redemptions_name ON redemptions (name);

CREATE TABLE IF NOT EXISTS abilities (
  "group" varchar(32),
  model text,
  channel_id bigint,
  enabled boolean,
  priority bigint DEFAULT 0,
  PRIMARY KEY ("group", model, channel_id)
);
CREATE INDEX IF NOT EXISTS idx_abilities_channel_id ON abilities (channel_id);
CREATE INDEX IF NOT EXISTS idx_abilities_priority ON abilities (priority);

CREATE TABLE IF NOT EXISTS logs (
  id bigserial PRIMARY KEY,
  user_id bigint,
  created_at bigint,
  type bigint,
  content text,
  username text DEFAULT '',
  token_name text DEFAULT '',
  model_name text DEFAULT '',
  quota bigint DEFAULT 0,
  prompt_tokens bigint DEFAULT 0,
  completion_tokens bigint DEFAULT 0,
  channel_id bigint,
  request_id text DEFAULT '',
  elapsed_time bigint DEFAULT 0,
  is_stream boolean DEFAULT false,
  system_prompt_reset boolean DEFAULT false
);
