package redact

import (
	"strings"
	"testing"
)

func BenchmarkString(b *testing.B) {
	for name, s := range map[string]string{
		"Short": `cannot get secret ns/api-token: Get "https://10.0.0.1:443/api/v1/namespaces/ns/secrets/api-token?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`,
		"Long":  strings.Repeat("the quick brown fox ", 1<<16),
		"Keys":  strings.Repeat("password=abc ", 1<<16),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				String(s)
			}
		})
	}
}
