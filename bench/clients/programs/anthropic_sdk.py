"""The Anthropic SDK for Python with its tool runner: anthropic_sdk.py stream|whole PROMPT"""

import os
import sys

from anthropic import Anthropic, beta_tool

from functions import find_key, find_word

kind, prompt = sys.argv[1:]
client = Anthropic(base_url=os.environ["GATEHOUSE_URL"], api_key=os.environ["GATEHOUSE_KEY"])
runner = client.beta.messages.tool_runner(
    model=os.environ["MODEL"],
    max_tokens=4096,
    tools=[beta_tool(find_key), beta_tool(find_word)],
    messages=[{"role": "user", "content": prompt}],
    stream=kind == "stream",
)
last = None
for message in runner:
    last = message.get_final_message() if kind == "stream" else message
print("".join(block.text for block in last.content if block.type == "text"))
