package chaos

import (
	"context"
	stderrors "errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Options of a run. Use DefaultOptions, and change what differs.
type Options struct {
	// Seed determines the schedule, as far as the run controls it.
	Seed uint64

	// Rounds is the number of rounds, Objects that of objects, at least ten.
	Rounds, Objects int

	// Window is how long the faults of a round last, Settle how long everything may take to settle after them.
	Window, Settle time.Duration

	// Limit is how long the whole run may take. The default is long enough for any run that makes progress:
	// for each round Window, twice Settle and two minutes, and ten minutes more.
	Limit time.Duration

	// Unclaimed creates objects with a finalizer, as the provider's package does. Without it an object may be
	// removed while its first finalizer is being stored, and its external resource is left over if the
	// provider is killed at that moment.
	Unclaimed bool

	// Dir holds the data and the logs of the provider. It must be empty.
	Dir string

	// Provider is the program of the provider, with the arguments before "run"; NATS is one that calls
	// ServeNATS with the arguments that follow.
	Provider, NATS []string

	// Out is where the run is reported.
	Out io.Writer

	// Interfere, if set, is called at the end of the faults of each round. Tests make a check fail with it.
	Interfere func(ctx context.Context, kube client.Client, js jetstream.JetStream) error
}

// DefaultOptions returns the options of a run of four to five minutes on two cores. A round takes a minute,
// Window and twice Settle at most.
func DefaultOptions() Options {
	return Options{Seed: 1, Unclaimed: true, Rounds: 10, Objects: 200, Window: 13 * time.Second, Settle: time.Minute}
}

// check returns an error if the options are invalid.
func (o Options) check() error {
	switch {
	case o.Rounds < 1:
		return errors.New("there must be at least one round")
	case o.Objects < family:
		return errors.Errorf("there must be at least %d objects", family)
	case o.Limit < 0:
		return errors.New("a run must have time")
	case o.Window <= 0 || o.Settle <= 0:
		return errors.New("a round must have time for its faults and to settle")
	case len(o.Provider) == 0 || len(o.NATS) == 0:
		return errors.New("the programs of the provider and of NATS must be named")
	default:
		return nil
	}
}

// limit returns how long a run may take.
func (o Options) limit() time.Duration {
	if o.Limit > 0 {
		return o.Limit
	}

	return 10*time.Minute + time.Duration(o.Rounds)*(o.Window+2*o.Settle+2*time.Minute)
}

// Run starts the servers, makes the rounds and reports its findings. An error means that it could not, that
// it took too long, or that ctx ended; whether everything held is in the result. It ends after the first
// round in which something did not hold. A planned kind of fault that was never made is a finding, too.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}

	late := errors.Errorf("the run was not over after %s", o.limit())

	ctx, cancel := context.WithTimeoutCause(ctx, o.limit(), late)
	defer cancel()

	res, err := run(ctx, o)
	if ctx.Err() != nil {
		err = stderrors.Join(context.Cause(ctx), err)
	}

	return res, err
}

func run(ctx context.Context, o Options) (res *Result, err error) {
	begin := time.Now()
	res = &Result{}

	w, err := start(ctx, o)
	if err != nil {
		return res, err
	}

	defer func() { err = stderrors.Join(err, w.stop()) }()

	for n := range o.Rounds {
		if err := w.round(ctx, n+1, res); err != nil {
			return res, errors.Wrapf(err, "round %d", n+1)
		}

		if !res.Held() {
			break
		}
	}

	for _, after := range []func(context.Context, *Result) error{w.rewindTo, w.dropAnnotations} {
		if !res.Held() {
			break
		}

		if err := after(ctx, res); err != nil {
			return res, errors.Wrap(err, "after the rounds")
		}
	}

	if res.Held() {
		if v := forgotten(o, res.Rounds, w.count()); !v.held() {
			res.add(v, w.count(), w.users.done.Load())
			w.complain(v)
		}
	}

	if res.Held() {
		if err := w.empty(ctx, res); err != nil {
			return res, errors.Wrap(err, "after the last round")
		}
	}

	res.Took = time.Since(begin)

	return res, nil
}

// round makes one round, and adds its findings to the result.
func (w *world) round(ctx context.Context, n int, res *Result) error {
	p := plan(w.o.Seed, n, w.o.Window)
	w.say("round %d of %d: %s", n, w.o.Rounds, p)

	if err := w.breakThings(ctx, p); err != nil {
		return err
	}

	w.say("  the faults are over")

	w.finish(ctx)

	if w.o.Interfere != nil {
		if err := w.o.Interfere(ctx, w.env.Client, w.js); err != nil {
			return err
		}
	}

	begin := time.Now()

	v, rest, err := w.settle(ctx, w.look)
	if err != nil {
		return err
	}

	res.Rounds++
	res.add(v, w.count(), w.users.done.Load())

	if v.held() {
		w.say("  everything is as desired after %.1f s: %s", time.Since(begin).Seconds(), rest)
	} else {
		w.complain(v)
	}

	w.fleet.stop()

	return nil
}

// calm is how long everything has to stay as desired. Operations under way may still end in that time.
const calm = 2 * poll

// settle observes until everything is as desired and stays so, or until time is up.
func (w *world) settle(
	ctx context.Context, look func(context.Context) (verdict, string, error),
) (verdict, string, error) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Settle)
	defer cancel()

	var (
		last   verdict
		report string
		since  time.Time
		err    error
	)

	for {
		var (
			v    verdict
			text string
		)

		switch v, text, err = look(ctx); {
		case err == nil:
			last, report = v, text
		case ctx.Err() == nil:
			w.say("  cannot observe: %v", err)
		}

		switch now := time.Now(); {
		case err != nil || !last.held():
			since = time.Time{}
		case since.IsZero():
			since = now
		case now.Sub(since) >= calm:
			return last, report, nil
		}

		if pause(ctx, lookEvery) == nil {
			continue
		}

		if report == "" {
			return last, report, errors.Wrap(err, "cannot observe the servers")
		}

		if last.held() {
			last.find(stuck, "everything was as desired only at the end, and not for long enough")
		}

		return last, report, nil
	}
}

// lookEvery is how often settle observes.
const lookEvery = 500 * time.Millisecond

// empty deletes all objects, and checks that only the foreign resources are left.
func (w *world) empty(ctx context.Context, res *Result) error {
	w.say("at the end: everything is deleted")

	if err := w.fleet.start(ctx, course{notified: true}); err != nil {
		return err
	}
	defer w.fleet.stop()

	if err := w.deleteAll(ctx); err != nil {
		return err
	}

	v, rest, err := w.settle(ctx, w.lookForNothing)
	if err != nil {
		return err
	}

	if res.add(v, w.count(), w.users.done.Load()); v.held() {
		w.say("  nothing is left: %s", rest)
	} else {
		w.complain(v)
	}

	return nil
}

// finish creates the streams that consumers wait for. An object that is stuck, and occupies a name, is
// reported soon.
func (w *world) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Settle)
	defer cancel()

	if err := w.users.finish(ctx); err != nil {
		w.say("  cannot create streams for consumers: %v", err)
	}
}

// complain reports what does not hold, and the last output of the provider.
func (w *world) complain(v verdict) {
	w.say("DID NOT HOLD:\n%s\nThe last output of the provider, all of it in %s:\n%s", v, w.o.Dir, w.fleet.lastWords())
}

func (w *world) say(format string, args ...any) {
	w.out.Lock()
	defer w.out.Unlock()

	fmt.Fprintf(w.o.Out, "%6.1f s  %s\n", time.Since(w.begin).Seconds(), fmt.Sprintf(format, args...))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
