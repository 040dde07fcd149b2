package logging_test

import (
	"fmt"
	"log/slog"
	"os"

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

// What a Logger of three methods cannot do is made up for.
func ExampleWarn() {
	handler := slog.NewTextHandler(os.Stdout,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}

			return a
		}})

	log := logging.WithName(logging.NewSlogLogger(slog.New(handler)), "harbour")
	logging.Warn(log, "Wind is rising", "force", 7)
	// Output:
	// level=WARN msg="Wind is rising" logger=harbour force=7
}
