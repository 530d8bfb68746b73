"""LangChain for Python: langchain_agent.py openai|anthropic|google PROMPT"""

import os
import sys

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI

from functions import find_key, find_word

kind, prompt = sys.argv[1:]
url, key, model = (os.environ[name] for name in ("GATEHOUSE_URL", "GATEHOUSE_KEY", "MODEL"))
chat = {
    "openai": lambda: ChatOpenAI(model=model, base_url=url + "/v1", api_key=key),
    "anthropic": lambda: ChatAnthropic(model=model, base_url=url, api_key=key),
    "google": lambda: ChatGoogleGenerativeAI(model=model, base_url=url, api_key=key),
}[kind]()
agent = create_agent(chat, tools=[find_key, find_word])
result = agent.invoke({"messages": [{"role": "user", "content": prompt}]})
print(result["messages"][-1].text)
