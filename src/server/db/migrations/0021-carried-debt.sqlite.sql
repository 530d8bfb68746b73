-- 1: what the balances did not cover (`debt`, `token_debt`) is part of `user_amount` and
-- `token_amount`, so the balances went below zero and the next credit pays it. 0: it was not taken.
ALTER TABLE ledger ADD COLUMN carried integer NOT NULL DEFAULT 0;
