"""Serves a folder by HTTPS on loopback, and writes the port to a file: server.py FOLDER CERTIFICATE KEY PORT_FILE"""

import functools
import http.server
import os
import ssl
import sys

folder, certificate, key, port_file = sys.argv[1:]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file + ".tmp", "w") as file:
    file.write(str(server.server_port))
os.rename(port_file + ".tmp", port_file)
server.serve_forever()
