package dev

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConsole writes the lines of a log for people.
func TestConsole(t *testing.T) {
	const (
		at     = `{"time":"2026-11-28T01:31:51Z",`
		event  = `"level":"INFO","msg":"Event","controller":"managed/role.example.org","object":"default/a","uid":"1",`
		failed = at + event + `"version":"7","type":"Warning","reason":"CannotCreate","message":"the server says no"}`
	)

	clock := time.Date(2026, 11, 28, 1, 31, 51, 0, time.UTC)
	local := clock.Local().Format(time.TimeOnly)

	cases := map[string]struct {
		reason string
		lines  []string
		want   string
	}{
		"Event": {"An event is shown by its reason and message.", []string{failed},
			local + " WARN  role default/a: CannotCreate: the server says no\n"},
		"Repeated": {"It is shown once a minute, with a number.", []string{failed, failed, failed, "wait", failed, failed},
			local + " WARN  role default/a: CannotCreate: the server says no\n" +
				local + " WARN  role default/a: CannotCreate: the server says no (3 times since 01:31:51)\n"},
		"Text": {"A panic is no JSON, and is shown as it is.", []string{"panic: nil map", "panic: nil map"},
			"panic: nil map\npanic: nil map\n"},
		"Other": {"JSON without a message is no line of a log.", []string{`{"a": 1}`}, "{\"a\": 1}\n"},
		"Keys": {"All other keys are shown, sorted.",
			[]string{at + `"level":"ERROR","msg":"cannot list","kind":"Role","error":"forbidden","attempt":2}`},
			local + " ERROR cannot list attempt=2 error=forbidden kind=Role\n"},
		"Internal": {"Lines about the internals are left out.", []string{
			at + `"level":"INFO","msg":"Starting EventSource","controller":"managed/role.example.org"}`,
		}, ""},
		"Failure": {"An error that an event has reported is not shown again.",
			[]string{failed, at + `"level":"ERROR","msg":"Reconciler error","err":"create failed: the server says no"}`},
			local + " WARN  role default/a: CannotCreate: the server says no\n"},
		"Alone": {"An error that no event has reported is shown.",
			[]string{failed, at + `"level":"ERROR","msg":"Reconciler error","controllerKind":"Role","name":"b",` +
				`"error":"the disk is full"}`},
			local + " WARN  role default/a: CannotCreate: the server says no\n" +
				local + " ERROR role b: Reconciler error error=the disk is full\n"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now, out := clock.Local(), &bytes.Buffer{}
			c := newConsole(func() time.Time { return now })
			lines := &prefixed{to: out, show: c.text}

			for _, line := range tc.lines {
				if line == "wait" {
					now = now.Add(repeatAfter)

					continue
				}

				if _, err := lines.Write([]byte(line + "\n")); err != nil {
					t.Fatal(err)
				}
			}

			want := bytes.ReplaceAll([]byte(tc.want), []byte("since 01:31:51"), []byte("since "+local))
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
