-- Passkeys (WebAuthn credentials, https://www.w3.org/TR/webauthn-3/).
CREATE TABLE passkeys (
  -- Base64url, as browsers send it.
  credential_id text PRIMARY KEY,
  user_id integer NOT NULL,
  name text NOT NULL,
  -- COSE key, base64url.
  public_key text NOT NULL,
  -- Signature counter of the last use; authenticators without one send 0.
  counter integer NOT NULL,
  -- JSON list of ways to reach the authenticator.
  transports text NOT NULL,
  created_at integer NOT NULL,
  -- Seconds; 0 if never used.
  used_at integer NOT NULL
);
CREATE INDEX gh_passkeys_user ON passkeys (user_id);

-- Challenges that a browser is to sign, each for one response.
CREATE TABLE passkey_challenges (
  -- SHA-256 of the cookie.
  id_hash text PRIMARY KEY,
  challenge text NOT NULL,
  -- 'register', 'login' or 'verify'.
  purpose text NOT NULL,
  -- 0 for 'login'.
  user_id integer NOT NULL,
  expires_at integer NOT NULL
);
