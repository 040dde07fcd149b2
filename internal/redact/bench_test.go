package redact

import (
	"strings"
	"testing"
)

func BenchmarkString(b *testing.B) {
	for name, s := range map[string]string{
		"Short": `cannot get secret ns/api-token: Get "https://10.0.0.1:443/api/v1/namespaces/ns/secrets/` +
			`api-token?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`,
		"Long": strings.Repeat("the quick brown fox ", 1<<16),
		"Keys": strings.Repeat("password=abc ", 1<<16),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				String(s)
			}
		})
	}
}

func BenchmarkMask(b *testing.B) {
	ordinary := `cannot observe external resource: Get "https://10.0.0.1:443/v1/streams/a%20b?timeout=10s": dial tcp ` +
		`10.0.0.1:443: connect: connection refused`
	m := NewMask([]byte("correct horse battery staple"), []byte(awkward), []byte(canary))

	for name, s := range map[string]string{
		"Nothing": ordinary,
		"Known":   ordinary + " with " + canary,
		"Long":    strings.Repeat("the quick brown fox ", 400),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()

			for b.Loop() {
				m.Text(s)
			}
		})
	}

	b.Run("New", func(b *testing.B) {
		b.ReportAllocs()

		for b.Loop() {
			NewMask([]byte(canary)).Text("x")
		}
	})
}
