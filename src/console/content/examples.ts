/** Example programs that call the gateway at `base`, for copying. */

export const environmentExample = (base: string): string =>
  `export OPENAI_BASE_URL=${base}/v1\nexport OPENAI_API_KEY=sk-…`

export const curlExample = (base: string): string =>
  `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello"}]}'`

export const pythonExample = (base: string): string =>
  `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="sk-…")
answer = client.chat.completions.create(
    model="gpt-4o-mini",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`
