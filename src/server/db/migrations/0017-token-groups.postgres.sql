-- Groups that single tokens were given; the calls of others belong to the groups of the owner.
CREATE TABLE token_groups (
  token_id bigint PRIMARY KEY,
  "group" text NOT NULL
);
