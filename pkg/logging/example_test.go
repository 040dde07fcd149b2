package logging_test

import (
	"fmt"

	"github.com/go-logr/logr/funcr"

	"github.com/moorage-dev/moorage/pkg/logging"
)

func ExampleNewLogrLogger() {
	sink := funcr.New(func(_, args string) { fmt.Println(args) }, funcr.Options{})

	log := logging.NewLogrLogger(sink).WithValues("ship", "pearl")
	log.Info("Cannot reach the harbour", "attempt", 3)
	log.Debug("Asked the harbour master")
	// Output:
	// "level"=0 "msg"="Cannot reach the harbour" "ship"="pearl" "attempt"=3
}
