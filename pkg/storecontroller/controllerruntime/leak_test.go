package controllerruntime

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/internal/leak"
)

// TestMain listens to controller-runtime's log, which can be done once, and only in the
// first half minute of a process, and sees to it that nothing goes on when the tests have
// ended.
func TestMain(m *testing.M) {
	log.SetLogger(funcr.New(logged.write, funcr.Options{}))
	leak.VerifyTestMain(m)
}

// logged is what was told to controller-runtime's log.
var logged journal
