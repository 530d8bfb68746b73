-- Sums by day of people, whose names change hands; those of finished hours from their tokens'.
INSERT INTO usage_sums
  (subject, model_name, name, start, requests, quota, prompt_tokens, completion_tokens)
  SELECT 'user', '', substr(name, 1, instr(name, ' ') - 1), start,
    sum(requests), sum(quota), sum(prompt_tokens), sum(completion_tokens)
  FROM usage_sums WHERE subject = 'own_token' GROUP BY 3, 4;
