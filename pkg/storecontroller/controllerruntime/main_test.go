package controllerruntime

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestMain sets the log of controller-runtime, which can be set once and only in the first 30 seconds of a process,
// and checks for leaked goroutines.
func TestMain(m *testing.M) {
	log.SetLogger(funcr.New(globalLog.write, funcr.Options{}))
	leak.VerifyTestMain(m)
}

// globalLog holds the messages of controller-runtime's log.
var globalLog logRecorder
