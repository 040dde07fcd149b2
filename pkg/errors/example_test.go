package errors_test

import (
	"fmt"
	"io/fs"

	"github.com/moorage-dev/moorage/pkg/errors"
)

func ExampleWrap() {
	err := errors.Wrap(fs.ErrNotExist, "cannot open the log book")

	fmt.Println(err)
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	fmt.Println(errors.Wrap(nil, "cannot open the log book"))
	// Output:
	// cannot open the log book: file does not exist
	// true
	// <nil>
}
