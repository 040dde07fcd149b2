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

	log := logging.NewLogrLogger(sink).WithValues("bucket", "logs")
	log.Info("Cannot reach the server", "attempt", 3)
	log.Debug("Sent the request")
	// Output:
	// "level"=0 "msg"="Cannot reach the server" "bucket"="logs" "attempt"=3
}

// A Logger with three methods gets the level and the name as pairs.
func ExampleWarn() {
	handler := slog.NewTextHandler(os.Stdout,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}

			return a
		}})

	log := logging.WithName(logging.NewSlogLogger(slog.New(handler)), "storage")
	logging.Warn(log, "Queue is growing", "length", 7)
	// Output:
	// level=WARN msg="Queue is growing" logger=storage length=7
}
