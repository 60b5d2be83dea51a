module bailiwick.dev/conformance/ask

// The line of the oldest module that uses this one.
go 1.23
