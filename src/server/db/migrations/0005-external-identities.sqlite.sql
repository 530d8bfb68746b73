-- Who somebody is elsewhere. The key is what the provider never changes; names there are display only.
CREATE TABLE external_identities (
  -- github, lark, oidc, wechat
  provider text NOT NULL,
  -- The provider's own id of the person; for oidc the issuer, a space, and the subject.
  subject text NOT NULL,
  user_id integer NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (provider, subject)
);
-- One account of a provider for each user.
CREATE UNIQUE INDEX gh_external_identities_user ON external_identities (user_id, provider);

-- Trips to a provider that are under way. Each serves once.
CREATE TABLE sign_in_states (
  -- SHA-256 of the state, hex.
  state_hash text PRIMARY KEY,
  -- Whose trip it is: the signed-in session, or the browser of a visitor, as a hash.
  bound_to text NOT NULL,
  -- Empty: the first callback decides.
  provider text NOT NULL DEFAULT '',
  -- login, bind; empty: being signed in decides.
  intent text NOT NULL DEFAULT '',
  -- What the provider was told; empty where it was told nothing.
  code_verifier text NOT NULL DEFAULT '',
  nonce text NOT NULL DEFAULT '',
  redirect_uri text NOT NULL DEFAULT '',
  expires_at integer NOT NULL
);
CREATE INDEX gh_sign_in_states_expiry ON sign_in_states (expires_at);
