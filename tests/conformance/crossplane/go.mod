module bailiwick.dev/conformance/crossplane

go 1.26.0
