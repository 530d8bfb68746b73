-- The language in which a user last used the console: errors to the user's programs are in it.
CREATE TABLE user_languages (
  user_id integer PRIMARY KEY,
  language text NOT NULL
);
