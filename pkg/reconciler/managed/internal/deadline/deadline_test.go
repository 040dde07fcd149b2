package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
)

type key struct{}

var (
	errShutdown = errors.New("the process ends")
	errTooLate  = errors.New("the parent was too late")
)

// A maker makes a context with a deadline.
type maker func(context.Context, time.Time) (context.Context, context.CancelFunc)

// A story is what happens to a context that ends after ten seconds, and to related ones.
type story struct {
	*testing.T

	make   maker
	begun  time.Time
	root   context.Context         //nolint:containedctx // what the test is about
	kill   context.CancelCauseFunc // ends the root
	ctx    context.Context         //nolint:containedctx // what the test is about
	cancel context.CancelFunc
	seen   []string
}

const term = 10 * time.Second

// tell runs a story, and returns the observed states.
func tell(t *testing.T, of maker, what func(*story)) (seen []string) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, make: of, begun: time.Now()}
		s.root, s.kill = context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		defer s.kill(nil)
		s.ctx, s.cancel = of(s.root, s.begun.Add(term))
		defer s.cancel()
		what(s)
		seen = s.seen
	})

	return seen
}

func (s *story) note(format string, a ...any) {
	s.seen = append(s.seen, fmt.Sprintf("%v: ", time.Since(s.begun))+fmt.Sprintf(format, a...))
}

// look records the state of a context without waiting for it.
func (s *story) look(ctx context.Context) {
	at, ok := ctx.Deadline()
	s.note("error %v, cause %v, deadline %v %t, value %v", ctx.Err(), context.Cause(ctx), at.Sub(s.begun), ok,
		ctx.Value(key{}))
}

// peek records whether the channel of a context is closed.
func (s *story) peek(ctx context.Context) {
	synctest.Wait()
	select {
	case <-ctx.Done():
		s.note("over")
	default:
		s.note("goes on")
	}
	s.look(ctx)
}

func (s *story) sleep(d time.Duration) {
	<-time.After(d)
	synctest.Wait() // until all that ends at the same moment has ended
}

// stories are sequences of events. A context must behave in each as one of the standard library.
var stories = map[string]struct {
	reason string
	story  func(*story)
}{
	"looked at": {"Who does not wait is told the truth by the clock.",
		func(s *story) { s.look(s.ctx); s.sleep(term - 1); s.look(s.ctx); s.sleep(1); s.look(s.ctx) }},
	"waited for": {"It ends by itself.", func(s *story) { <-s.ctx.Done(); s.look(s.ctx) }},
	"waited for later": {"The time runs from the beginning.",
		func(s *story) { s.sleep(term / 2); s.peek(s.ctx); <-s.ctx.Done(); s.look(s.ctx) }},
	"waited for too late": {"Whoever comes after the end does not wait.",
		func(s *story) { s.sleep(2 * term); <-s.ctx.Done(); s.look(s.ctx) }},
	"looked at and waited": {"What was told stays.",
		func(s *story) { s.sleep(term); s.look(s.ctx); s.kill(errShutdown); s.peek(s.ctx) }},
	"ended": {"Its owner ends it.",
		func(s *story) { s.cancel(); s.cancel(); s.look(s.ctx); s.peek(s.ctx) }},
	"ended, asked too late": {"What ended it was not the time.",
		func(s *story) { s.cancel(); s.sleep(2 * term); s.look(s.ctx); s.peek(s.ctx) }},
	"ended while waited": {"Whoever waits is told.", func(s *story) { s.peek(s.ctx); s.cancel(); s.peek(s.ctx) }},
	"ended too late": {"It was over by then.",
		func(s *story) { s.sleep(2 * term); s.look(s.ctx); s.cancel(); s.look(s.ctx); s.peek(s.ctx) }},
	"ended far too late": {"It was over by then, though nobody had looked.",
		func(s *story) { s.sleep(2 * term); s.cancel(); s.look(s.ctx); s.peek(s.ctx) }},
	"ended after parent": {"The first reason counts, though nobody had looked.",
		func(s *story) { s.kill(errShutdown); s.cancel(); s.look(s.ctx); s.peek(s.ctx) }},
	"printed": {"It says what it is, and nothing of what it has inside.", func(s *story) {
		inner, end := s.make(s.ctx, s.begun.Add(2*term))
		defer end()
		s.note("%v, %v", s.ctx, inner)
		s.sleep(term)
		s.note("%v, %v", s.ctx, context.WithValue(inner, key{}, "value"))
	}},
	"ended before all": {"What ends its parent later does not change why it ended.",
		func(s *story) { s.cancel(); s.kill(errShutdown); s.look(s.ctx); s.peek(s.ctx) }},
	"ended after all": {"Neither does its own end.",
		func(s *story) { s.kill(errShutdown); s.look(s.ctx); s.cancel(); s.look(s.ctx); s.peek(s.ctx) }},
	"parent": {"It ends with its parent, for the same cause.",
		func(s *story) { s.kill(errShutdown); s.look(s.ctx); s.peek(s.ctx); s.sleep(2 * term); s.peek(s.ctx) }},
	"parent while waited": {"Whoever waits is told.",
		func(s *story) { s.peek(s.ctx); s.kill(errShutdown); s.peek(s.ctx) }},
	"parent was over": {"It is over from the beginning.", func(s *story) {
		s.kill(errShutdown)
		s.ctx, s.cancel = s.make(s.root, s.begun.Add(term))
		s.look(s.ctx)
		s.peek(s.ctx)
	}},
	"time was up": {"So is one that should have ended before.",
		func(s *story) { s.ctx, s.cancel = s.make(s.root, s.begun.Add(-1)); s.look(s.ctx); s.peek(s.ctx) }},
	"parent is shorter": {"The earlier deadline counts, and its cause.", func(s *story) {
		parent, end := context.WithDeadlineCause(s.root, s.begun.Add(term/2), errTooLate)
		defer end()
		s.ctx, s.cancel = s.make(parent, s.begun.Add(term))
		s.look(s.ctx)
		s.sleep(term / 2)
		synctest.Wait()
		s.peek(s.ctx)
	}},
	"of its kind": {"One inside of another ends with it.", func(s *story) {
		inner, end := s.make(context.WithValue(s.ctx, key{}, "another"), s.begun.Add(term-1))
		defer end()
		s.look(inner)
		s.sleep(term - 1)
		s.look(inner)
		s.look(s.ctx)
		s.sleep(1)
		s.peek(inner)
		s.peek(s.ctx)
	}},
	"of its kind, ended": {"A parent that was ended ends what is in it.", func(s *story) {
		inner, end := s.make(s.ctx, s.begun.Add(term/2))
		defer end()
		s.cancel()
		s.look(inner)
		s.peek(inner)
	}},
	"child": {"Whoever derives from it is ended with it.", func(s *story) {
		child, end := context.WithCancel(s.ctx)
		defer end()
		s.peek(child)
		s.kill(errShutdown)
		s.peek(child)
	}},
	"child in time": {"Its children have its deadline, and their own.", func(s *story) {
		child, end := context.WithTimeoutCause(s.ctx, term/2, errTooLate)
		defer end()
		grown, done := context.WithTimeoutCause(s.ctx, 2*term, errTooLate)
		defer done()
		<-child.Done()
		s.look(child)
		s.look(s.ctx)
		<-grown.Done()
		s.look(grown)
	}},
	"child, ended": {"The end of a child is not its own.", func(s *story) {
		child, end := context.WithCancelCause(s.ctx)
		end(errTooLate)
		s.peek(child)
		s.peek(s.ctx)
	}},
	"late child": {"What is derived from what is over is over.", func(s *story) {
		s.sleep(term)
		child, end := context.WithCancel(s.ctx)
		defer end()
		s.peek(child)
	}},
	"late child, ended": {"For the same reason.", func(s *story) {
		s.cancel()
		s.kill(errShutdown)
		child, end := context.WithCancel(s.ctx)
		defer end()
		s.peek(child)
	}},
	"lasting child": {"What is to last lasts.", func(s *story) {
		lasting := context.WithoutCancel(s.ctx)
		s.cancel()
		s.peek(lasting)
	}},
	"after": {"Whatever is to be done after its end is done.", func(s *story) {
		done := make(chan struct{})
		context.AfterFunc(s.ctx, func() { close(done) })
		stop := context.AfterFunc(s.ctx, func() { s.Error("what was called off was done") })
		s.note("called off: %t", stop())
		<-done
		s.note("done")
	}},
}

func TestAsUsual(t *testing.T) {
	for name, tc := range stories {
		t.Run(name, func(t *testing.T) {
			want := tell(t, context.WithDeadline, tc.story)
			if diff := cmp.Diff(want, tell(t, deadline.At, tc.story)); diff != "" {
				t.Errorf("%s\n-as usual, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAsUsualAtRandom verifies that both kinds of contexts behave alike in random sequences.
func TestAsUsualAtRandom(t *testing.T) {
	for seed := range uint64(500) {
		made := func(s *story) { makeUp(s, rand.New(rand.NewPCG(seed, 1))) }
		want := tell(t, context.WithDeadline, made)
		if diff := cmp.Diff(want, tell(t, deadline.At, made)); diff != "" {
			t.Fatalf("story %d: -as usual, +got:\n%s", seed, diff)
		}
	}
}

// makeUp lets a dozen random events happen to a few contexts. It reads all others before one is ended: only a
// context that was read knows whether its parent or its deadline came first.
func makeUp(s *story, random *rand.Rand) {
	all, ends := []context.Context{s.ctx}, []context.CancelFunc{s.cancel}
	add := func(ctx context.Context, end context.CancelFunc) { all, ends = append(all, ctx), append(ends, end) }
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	lookAtAll := func(but int) {
		for i, ctx := range all {
			if i != but {
				s.look(ctx)
			}
		}
	}
	for range 12 {
		of := all[random.IntN(len(all))]
		switch random.IntN(8) {
		case 0, 1:
			s.sleep(time.Duration(random.IntN(4)) * time.Second)
		case 2:
			s.look(of)
		case 3:
			s.peek(of)
		case 4:
			add(s.make(of, s.begun.Add(time.Duration(random.IntN(15))*time.Second)))
		case 5:
			add(context.WithTimeout(of, time.Duration(random.IntN(15))*time.Second+time.Millisecond))
		case 6:
			i := random.IntN(len(ends))
			lookAtAll(i)
			ends[i]()
		default:
			if random.IntN(4) == 0 {
				lookAtAll(-1)
				s.kill(errShutdown)
			}
		}
	}
	s.sleep(time.Minute)
	for _, ctx := range all {
		s.peek(ctx)
	}
}

// An asked context counts the calls of Done.
type asked struct {
	context.Context //nolint:containedctx // it is one

	times int
}

func (a *asked) Done() <-chan struct{} { a.times++; return a.Context.Done() }

// TestNoTimerWithoutDone verifies that nothing runs, and nothing is registered with the parent, without a call of Done.
func TestNoTimerWithoutDone(t *testing.T) {
	parent := &asked{Context: t.Context()}
	look := func() {
		outer, cancel := deadline.In(parent, time.Hour)
		defer cancel()
		ctx, end := deadline.In(outer, time.Minute)
		defer end()
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil || ctx.Value(key{}) != nil {
			t.Error("it is over, or has another's value")
		}
	}
	if got := testing.AllocsPerRun(100, look); got > 4 || parent.times > 0 {
		t.Errorf("%v allocations for two contexts, and the parent was waited for %d times", got, parent.times)
	}
}

// TestDerivedWithoutGoroutines verifies that derived contexts are children, as of any context of package context:
// no goroutine watches the parent.
func TestDerivedWithoutGoroutines(t *testing.T) {
	ctx, cancel := deadline.In(t.Context(), time.Hour)
	defer cancel()
	before := runtime.NumGoroutine()
	for range 100 {
		_, end := context.WithCancel(ctx)
		defer end()
	}
	if now := runtime.NumGoroutine(); now > before+50 { // others of the process come and go
		t.Errorf("%d goroutines for a hundred derived contexts", now-before)
	}
}

// TestTogether verifies that concurrent users see the same end.
func TestTogether(t *testing.T) {
	for i := range 200 {
		synctest.Test(t, func(t *testing.T) {
			parent, kill := context.WithCancelCause(t.Context())
			ctx, cancel := deadline.In(parent, time.Second)
			causes := make([]error, 9)
			var all sync.WaitGroup
			for j := range causes {
				all.Go(func() {
					_ = fmt.Sprintf("%v %+v", ctx, ctx) // as a logger does
					switch j % 3 {
					case 0:
						<-ctx.Done()
					case 1:
						child, end := context.WithCancel(ctx)
						defer end()
						<-child.Done()
					default:
						for ctx.Err() == nil {
							<-time.After(100 * time.Millisecond)
						}
					}
					causes[j] = context.Cause(ctx)
				})
			}
			switch i % 3 {
			case 0:
				all.Go(cancel)
			case 1:
				all.Go(func() { kill(errShutdown) })
			}
			all.Wait()
			cancel()
			kill(nil)
			want := []error{context.Canceled, errShutdown, context.DeadlineExceeded}[i%3]
			for _, cause := range causes {
				if !errors.Is(cause, want) {
					t.Fatalf("ended by %v, want %v: %v", cause, want, causes)
				}
			}
		})
	}
}

func BenchmarkUsual(b *testing.B) { bench(b, context.WithDeadline) }

func BenchmarkLazy(b *testing.B) { bench(b, deadline.At) }

// bench makes the contexts of a pass, none of which is waited for.
func bench(b *testing.B, make maker) {
	root, kill := context.WithCancel(context.Background())
	defer kill()
	b.ReportAllocs()
	for b.Loop() {
		at := time.Now().Add(time.Minute)
		ctx, cancel := make(root, at)
		connect, cancelConnect := make(context.WithValue(ctx, key{}, b), at.Add(-time.Second))
		call, end := make(connect, at.Add(-time.Second))
		if call.Err() != nil {
			b.Fatal(call.Err())
		}
		end()
		cancelConnect()
		cancel()
	}
}
