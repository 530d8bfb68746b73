"""Google's Gen AI SDK for Python, which calls the functions itself: google_genai_sdk.py stream|whole PROMPT"""

import os
import sys

from google import genai
from google.genai import types

from functions import find_key, find_word

kind, prompt = sys.argv[1:]
client = genai.Client(
    api_key=os.environ["GATEHOUSE_KEY"],
    http_options=types.HttpOptions(base_url=os.environ["GATEHOUSE_URL"]),
)
call = {
    "model": os.environ["MODEL"],
    "contents": prompt,
    "config": types.GenerateContentConfig(tools=[find_key, find_word]),
}
if kind == "stream":
    print("".join(chunk.text or "" for chunk in client.models.generate_content_stream(**call)))
else:
    print(client.models.generate_content(**call).text)
