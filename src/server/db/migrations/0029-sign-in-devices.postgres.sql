-- Browsers and systems from which accounts have signed in, for the notice of a new one.
CREATE TABLE sign_in_devices (
  user_id bigint NOT NULL,
  -- Browser and system without versions: Chrome · Windows.
  device text NOT NULL,
  -- Last sign-in, seconds.
  seen_at bigint NOT NULL,
  PRIMARY KEY (user_id, device)
);
