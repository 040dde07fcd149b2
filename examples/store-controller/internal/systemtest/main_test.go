package systemtest

import (
	"flag"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/examples/store-controller/internal/natsproc"
	"github.com/moorage-dev/moorage/internal/leak"
)

// The amount of work: make store sets the numbers that the project promises.
var (
	primaries = flag.Int("primaries", manyObjects, "how many objects there are")
	changes   = flag.Int("changes", manyChanges, "how many of them change while a node is down")
	rounds    = flag.Int("rounds", 1, "how often the leader is killed")
	buckets   = flag.Int("buckets", manyBuckets, "how many new buckets are watched on three nodes")
	bounds    = flag.Bool("bounds", false, "hold times to their bounds: for a machine that does nothing else")
)

func TestMain(m *testing.M) {
	natsproc.Main()
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	// No handler for the errors of client-go: the default one sleeps, with the clock outside of bubbles. It is set before
	// any cache runs, because a cache may read it shortly after its test has ended.
	utilruntime.ErrorHandlers = nil
	leak.VerifyTestMain(m, leak.Connections()...)
}
