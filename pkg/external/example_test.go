package external_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// A client translates the codes of its external system once, where it calls it.
func Example() {
	create := func(code int) error {
		err := errors.Errorf("server answered %d", code)

		switch code {
		case 409:
			err = external.AlreadyExists(err)
		case 422:
			err = external.NotCreated(external.Terminal("InvalidConfiguration", err))
		}

		return errors.Wrap(err, "cannot create stream")
	}

	for _, code := range []int{409, 422, 504} {
		err := create(code)
		reason, _ := external.TerminalReason(err)

		fmt.Println(err)
		fmt.Printf("  taken %t, surely not created %t, reason %q\n",
			external.IsAlreadyExists(err), external.IsNotCreated(err), reason)
	}
	// Output:
	// cannot create stream: server answered 409
	//   taken true, surely not created false, reason ""
	// cannot create stream: server answered 422
	//   taken false, surely not created true, reason "InvalidConfiguration"
	// cannot create stream: server answered 504
	//   taken false, surely not created false, reason ""
}
