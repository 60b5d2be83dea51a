module bailiwick.dev/conformance/readers/wire

go 1.26.0
