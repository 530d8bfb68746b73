"""The OpenAI Agents SDK: openai_agents.py responses|chat PROMPT"""

import os
import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from functions import find_key, find_word

kind, prompt = sys.argv[1:]
client = AsyncOpenAI(base_url=os.environ["GATEHOUSE_URL"] + "/v1", api_key=os.environ["GATEHOUSE_KEY"])
model = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}[kind]
set_tracing_disabled(True)
agent = Agent(
    name="Finder",
    instructions="Find the word.",
    model=model(model=os.environ["MODEL"], openai_client=client),
    tools=[function_tool(find_key), function_tool(find_word)],
)
print(Runner.run_sync(agent, prompt).final_output)
