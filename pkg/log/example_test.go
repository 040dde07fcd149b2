package log_test

import (
	"fmt"

	"github.com/go-logr/logr/funcr"

	"github.com/moorage-dev/moorage/pkg/log"
)

// Plugins log formatted lines; they go where everything else does.
func ExampleNewFromExisting() {
	base := funcr.New(func(prefix, args string) { fmt.Println(prefix, args) }, funcr.Options{})
	log.NewFromExisting(base, "cars").Infof("created %s", "beetle")
	// Output: cars "level"=0 "msg"="created beetle"
}
