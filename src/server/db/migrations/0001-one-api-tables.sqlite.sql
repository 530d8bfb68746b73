-- The seven tables of the One API family, column for column. IF NOT EXISTS: an adopted file already has them.
-- channels.test_model is ours and its relatives'; an adopted file that lacks it got it before.
CREATE TABLE IF NOT EXISTS channels (
  id integer PRIMARY KEY,
  type integer DEFAULT 0,
  "key" text,
  status integer DEFAULT 1,
  name text,
  weight integer DEFAULT 0,
  created_time integer,
  test_time integer,
  response_time integer,
  base_url text DEFAULT '',
  other text,
  balance real,
  balance_updated_time integer,
  models text,
  "group" text DEFAULT 'default',
  used_quota integer DEFAULT 0,
  model_mapping text DEFAULT '',
  priority integer DEFAULT 0,
  config text,
  system_prompt text,
  test_model text
);
CREATE INDEX IF NOT EXISTS idx_channels_name ON channels (name);

CREATE TABLE IF NOT EXISTS tokens (
  id integer PRIMARY KEY,
  user_id integer,
  "key" char(48),
  status integer DEFAULT 1,
  name text,
  created_time integer,
  accessed_time integer,
  expired_time integer DEFAULT -1,
  remain_quota integer DEFAULT 0,
  unlimited_quota numeric DEFAULT false,
  used_quota integer DEFAULT 0,
  models text,
  subnet text DEFAULT ''
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_tokens_key ON tokens ("key");
CREATE INDEX IF NOT EXISTS idx_tokens_name ON tokens (name);

CREATE TABLE IF NOT EXISTS users (
  id integer PRIMARY KEY,
  username text,
  password text NOT NULL,
  display_name text,
  role integer DEFAULT 1,
  status integer DEFAULT 1,
  email text,
  github_id text,
  wechat_id text,
  lark_id text,
  oidc_id text,
  access_token char(32),
  quota integer DEFAULT 0,
  used_quota integer DEFAULT 0,
  request_count integer DEFAULT 0,
  "group" text DEFAULT 'default',
  aff_code varchar(32),
  inviter_id integer,
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
  id integer PRIMARY KEY,
  user_id integer,
  "key" char(32),
  status integer DEFAULT 1,
  name text,
  quota integer DEFAULT 100,
  created_time integer,
  redeemed_time integer
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_redemptions_key ON redemptions ("key");
CREATE INDEX IF NOT EXISTS idx_redemptions_name ON redemptions (name);

CREATE TABLE IF NOT EXISTS abilities (
  "group" varchar(32),
  model text,
  channel_id integer,
  enabled numeric,
  priority integer DEFAULT 0,
  PRIMARY KEY ("group", model, channel_id)
);
CREATE INDEX IF NOT EXISTS idx_abilities_channel_id ON abilities (channel_id);
CREATE INDEX IF NOT EXISTS idx_abilities_priority ON abilities (priority);

CREATE TABLE IF NOT EXISTS logs (
  id integer PRIMARY KEY,
  user_id integer,
  created_at integer,
  type integer,
  content text,
  username text DEFAULT '',
  token_name text DEFAULT '',
  model_name text DEFAULT '',
  quota integer DEFAULT 0,
  prompt_tokens integer DEFAULT 0,
  completion_tokens integer DEFAULT 0,
  channel_id integer,
  request_id text DEFAULT '',
  elapsed_time integer DEFAULT 0,
  is_stream numeric DEFAULT false,
  system_prompt_reset numeric DEFAULT false
);
