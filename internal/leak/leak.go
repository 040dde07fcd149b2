// Package leak finds goroutines that tests have left running, as goleak does. It waits longer than goleak for
// goroutines that are about to end, because half a second is not enough on a busy machine. Start with VerifyTestMain.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// VerifyTestMain runs the tests and exits with their exit code. If all tests passed and goroutines are left, it prints
// their stacks and exits with code 1. m is a *testing.M, or a Tests if the tests need servers.
func VerifyTestMain(m goleak.TestingM, o ...goleak.Option) {
	goleak.VerifyTestMain(patient{m, o}, o...)
}

// Tests is a function that starts the servers of the tests, runs the tests, stops the servers, and returns the exit
// code. If it returns an error, the error is printed and the exit code is 1.
type Tests func() (int, error)

// Run runs the tests.
func (t Tests) Run() int {
	code, err := t()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}

	return code
}

// Connections ignores the goroutines of HTTP connections. Clients of the standard library keep connections open for a
// while, and a shared server does not close them.
func Connections() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http/internal/http2.(*ClientConn).readLoop"),
	}
}

// Informers ignores goroutines that informers of controller-runtime leave when they end. They are left by a filtered
// watch of a metadata informer that ends while an event arrives, and by informers of several namespaces that end before
// they have synced.
func Informers() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
		goleak.IgnoreAnyFunction("sigs.k8s.io/controller-runtime/pkg/cache.newMultiNamespaceInformer.func1"),
		goleak.IgnoreAnyFunction(
			"sigs.k8s.io/controller-runtime/pkg/cache.newMultiNamespaceInformerHandlerRegistration.func1"),
	}
}

// VerifyNone fails a test if goroutines are left.
func VerifyNone(t testing.TB, o ...goleak.Option) {
	t.Helper()
	await(wait.Patience(), o)
	goleak.VerifyNone(t, o...)
}

// A patient waits for the goroutines of tests.
type patient struct {
	tests   goleak.TestingM
	options []goleak.Option
}

// Run runs the tests.
func (m patient) Run() int {
	code := m.tests.Run()
	if code == 0 {
		await(wait.Patience(), m.options)
	}

	return code
}

// await waits until no goroutine is left. It returns false if that takes longer than patience.
func await(patience time.Duration, o []goleak.Option) bool {
	for end := time.Now().Add(patience); ; {
		if goleak.Find(o...) == nil { // retries for a while
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
