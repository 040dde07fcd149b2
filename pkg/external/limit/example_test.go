package limit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
)

// Each call acquires permission from the gate of its connection, and releases it with its
// result.
func Example() {
	gates := limit.NewSet(limit.WithRate(10, 1, 100))

	call := func(answer error) error {
		gate := gates.Gate("ProviderConfig/default/prod")
		release, err := gate.Acquire(context.Background(), limit.Request{
			Namespace: "default", Object: "orders", Priority: limit.User,
		})
		if err != nil {
			return err
		}
		release(answer)

		return answer
	}

	fmt.Println(call(nil))
	fmt.Println(call(external.Throttled("", time.Minute, errors.New("429 Too Many Requests"))))

	err := call(nil)
	after, _ := external.AsRetryAfter(err)
	fmt.Println(err)
	fmt.Println("held:", limit.IsHeld(err), "for", after.Round(time.Minute))
	fmt.Println(gates.Gate("ProviderConfig/default/prod").State().Reason)
	// Output:
	// <nil>
	// 429 Too Many Requests
	// call held back: more is asked of the external system than it allows
	// held: true for 1m0s
	// Throttled
}
