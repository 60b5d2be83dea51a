// Runs one request in the module, and ends with the page's `terminate`. The module has no imports: it reaches neither the page nor
// a host.
"use strict";

const decode = (memory, address, length) => new TextDecoder().decode(new Uint8Array(memory.buffer, address, length));

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}\n... ${text.length - most} more characters` : text);

// Returns what the page shows of a response. It is small, so that the page shows it at once.
const reduced = (response, limits) => {
  if (response.refused !== undefined) return response;
  const { exitCode, stdout, stderr, report } = response;
  const found = (report?.findings ?? []).filter((finding) => finding.place !== undefined).slice(0, limits.places);
  return {
    exitCode,
    stdout: shortened(stdout, limits.shown),
    stderr: shortened(stderr, limits.shown),
    report: shortened(JSON.stringify(report, null, 2), limits.shown),
    places: found.map(({ place, message }) => ({ path: place.path, line: place.line, column: place.column, message })),
  };
};

self.onmessage = async ({ data: { module, request, limits } }) => {
  let exports;
  try {
    ({ exports } = await WebAssembly.instantiate(module, {}));
    const bytes = new TextEncoder().encode(request);
    const address = exports.request(bytes.length);
    if (address === 0) {
      self.postMessage({ failed: "the files are too large" });
      return;
    }
    new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes);
    exports.run();
    const response = JSON.parse(decode(exports.memory, exports.response(), exports.response_length()));
    self.postMessage({ response: reduced(response, limits) });
  } catch (error) {
    // After a panic, the response is its message.
    let message = "";
    try {
      message = decode(exports.memory, exports.response(), exports.response_length());
    } catch {
      // The module is not there, or has no stack left.
    }
    self.postMessage({ failed: message === "" ? String(error) : message });
  }
};
