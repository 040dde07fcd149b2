package recipes

import (
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
)

// TestLimited checks that a limit of calls slows down the connection, and a limit of resources only the object.
func TestLimited(t *testing.T) {
	calls := limited(&Refusal{TooManyRequests: true, After: time.Second, Text: "slow down"})
	if scope, after, ok := external.AsThrottled(calls); !ok || scope != "requests" || after != time.Second {
		t.Errorf("got %q, %s, %t", scope, after, ok)
	}
	databases := limited(&Refusal{TooManyDatabases: true, Text: "at most 20 databases"})
	_, _, throttled := external.AsThrottled(databases)
	if after, ok := external.AsRetryAfter(databases); throttled || !ok || after != 10*time.Minute {
		t.Errorf("got %s, %t, throttled %t", after, ok, throttled)
	}
	for _, err := range []error{calls, databases} {
		if !external.IsNotCreated(err) {
			t.Errorf("%v does not say that nothing was created", err)
		}
	}
	if external.IsNotCreated(limited(&Refusal{Text: "no"})) {
		t.Error("any answer counts as a limit")
	}
}
