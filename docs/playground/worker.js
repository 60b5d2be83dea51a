// Runs one request in the module, and ends with the page's `terminate`. The module has no imports: it reaches neither the page nor
// a host.
"use strict";

const decode = (memory, address, length) => new TextDecoder().decode(new Uint8Array(memory.buffer, address, length));

self.onmessage = async ({ data: { module, request } }) => {
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
    self.postMessage({ response: decode(exports.memory, exports.response(), exports.response_length()) });
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
