package managed

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	writeBackPage  = 500                    // objects in a page of a list
	writeBackLimit = 4                      // objects of a kind that are written at the same time
	writeBackNames = 20                     // objects that are named in one line of the log
	writeBackPause = 200 * time.Millisecond // before what failed is tried again

	// When what is not written is told: the process may end with its lease.
	writeBackPatience = 5 * time.Second
)

// ErrUnderWay says that a pass over the object has not ended.
var errUnderWay = errors.New("a pass is under way")

// The passes that are under way. It is safe for concurrent use.
type inFlight struct {
	mu sync.Mutex
	of map[types.NamespacedName]bool
}

func (u *inFlight) begin(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[types.NamespacedName]bool{}
	}
	u.of[key] = true
}

func (u *inFlight) end(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, key)
}

// has says whether a pass over the object is under way.
func (u *inFlight) has(key types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.of[key]
}

// restored says why nothing is decided any more: the API server was restored to an earlier
// state, so that the caches are of another history.
func (r *Reconciler) restored() error {
	if r.restores == nil {
		return nil
	}

	return r.restores.Restored()
}

// A lostRecord is an object whose record of a creation the restore may have taken.
type lostRecord struct {
	key  types.NamespacedName
	uid  types.UID
	memo *objectState     // what is known of it
	live resource.Managed // as the API server has it; nil: it is to be read
	err  error            // why it was not written
	done bool
}

// writeBack stores in an API server that was restored to an earlier state what this process
// knows of creations, and the next one would not: it would create again what is there. No pass
// begins any more, and objects whose pass is under way are left to it until it has ended.
func (r *Reconciler) writeBack(ctx context.Context) {
	if r.objects.Len() == 0 {
		return
	}
	var rest []*lostRecord
	var err error
	listed, written := false, 0
	retry(ctx, func() bool {
		if !listed {
			rest, err = r.lostRecords(ctx)
		}
		if listed = err == nil; listed {
			written += r.writeRecords(ctx, rest)
			rest = slices.DeleteFunc(rest, func(d *lostRecord) bool { return d.done })
		}

		return listed && len(rest) == 0
	}, func() { r.warnUnwritten(rest, err) })
	r.log.Info("The API server was restored: records of creations that it had forgotten were written back", "kind",
		r.of.Kind, "objects", written)
}

// retry calls try until it succeeds, or ctx ends. If it does not succeed it is told: soon,
// because the process may end earlier, and in the end.
func retry(ctx context.Context, try func() bool, tell func()) {
	soon, cancel := context.WithTimeout(ctx, writeBackPatience)
	defer cancel()
	for told := false; !try(); {
		ended := sleep(ctx, writeBackPause) != nil
		if ended || !told && soon.Err() != nil {
			told = true
			tell()
		}
		if ended {
			return
		}
	}
}

// writeRecords tries once to write the record of each object whose pass is over, and returns of
// how many one was written.
func (r *Reconciler) writeRecords(ctx context.Context, all []*lostRecord) (written int) {
	var mu sync.Mutex
	var calls sync.WaitGroup
	room := make(chan struct{}, writeBackLimit)
	for _, d := range all {
		room <- struct{}{}
		calls.Go(func() {
			defer func() { <-room }()
			if r.writeRecord(ctx, d) {
				mu.Lock()
				defer mu.Unlock()
				written++
			}
		})
	}
	calls.Wait()

	return written
}

// writeRecord reads one object, if need be, and writes its record. It says whether anything was
// missing.
func (r *Reconciler) writeRecord(ctx context.Context, d *lostRecord) (written bool) {
	if r.inFlight.has(d.key) {
		d.err = errUnderWay

		return false
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if d.live == nil {
		d.live = r.newManaged()
		d.err = r.cluster.GetAPIReader().Get(ctx, d.key, d.live)
		switch {
		case d.err == nil && client.ObjectKeyFromObject(d.live) != d.key:
			d.err = errNotAbout(d.key)
		case gone.Answered(d.err, d.key.Name) || d.err == nil && d.live.GetUID() != d.uid:
			r.warnLeft(d)

			return false
		}
	}
	if d.err == nil {
		written, d.err = r.writeMissing(ctx, d)
	}
	if d.done = d.err == nil; !d.done {
		d.live = nil // it may have changed meanwhile
	}

	return written
}

// writeMissing writes the record of a creation, and of the system that its resource is in, that the memory has
// and the object has not.
func (r *Reconciler) writeMissing(ctx context.Context, d *lostRecord) (written bool, err error) {
	p := creationRecord{object: r.objectOf(d.live, clone(d.live), d.memo.acquire())}
	identity := p.restoreIdentity()
	if !p.recall() {
		if external, attempt, other := p.contradicted(); other {
			logging.Error(r.log, errors.New("the restored state of the API server has the record of another creation"),
				"An external resource may be left over. Set its name in the object, or delete it if nothing else manages it",
				"kind", r.of.Kind, "namespace", d.key.Namespace, "name", d.key.Name, "externalName", external,
				"attempt", attempt)
		}
		if !identity {
			return false, nil
		}
	}
	if err := p.store(ctx, telemetry.Result); err != nil {
		return false, err
	}

	return true, nil
}

// lostRecords returns the objects to which something may have to be written: all that the memory
// and the API server know. Of those that only the memory knows is told.
func (r *Reconciler) lostRecords(ctx context.Context) ([]*lostRecord, error) {
	live, err := r.listAll(ctx)
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the objects of the API server")
	}

	return r.compare(ctx, live), nil
}

// compare returns the objects that the API server has, and tells of the others.
func (r *Reconciler) compare(ctx context.Context, live map[types.NamespacedName]resource.Managed) (all []*lostRecord) {
	r.objects.Each(func(key types.NamespacedName, uid types.UID, o *objectState) {
		d := &lostRecord{key: key, uid: uid, memo: o}
		if r.inFlight.has(key) { // nobody else may look at its memory
			all = append(all, d)

			return
		}
		d.memo = r.recollect(ctx, d)
		if d.live = live[key]; d.live == nil || d.live.GetUID() != uid {
			r.warnLeft(d)
		} else {
			all = append(all, d)
		}
	})

	return all
}

// recollect returns what the memory knows of an object or, if no pass has looked at it yet, what
// the cache shows: the restore has left that as it was.
func (r *Reconciler) recollect(ctx context.Context, d *lostRecord) *objectState {
	cached := r.newManaged()
	if _, _, anything := d.memo.known(); anything || d.memo.Gone ||
		r.client.Get(ctx, d.key, cached, asKept...) != nil || cached.GetUID() != d.uid {
		return d.memo
	}
	shown := (&objectState{}).acquire()
	shown.Seen = creation(cached, cached)
	if unresolved(cached) {
		shown.Called = intended(cached)
	}
	shown.Operation = operationOf(cached)
	o := r.objectOf(cached, cached, shown)
	o.keepIdentity()

	return shown
}

// known returns the external name of what was created for the object, or may have been, and the
// attempt that made it, as far as they are known; and whether there is anything.
func (o *objectState) known() (name, attempt string, anything bool) {
	cold := o.coldState
	if cold == nil {
		cold = &coldState{}
	}
	switch {
	case o.Gone || cold.FinalizerRemoved:
		return "", "", false
	case cold.Called != objectstate.Intent{}:
		return "", cold.Called.Attempt, true
	case cold.unrecorded():
		return cold.Unwritten[meta.AnnotationKeyExternalName], cold.Unwritten[meta.AnnotationKeyCreateAttempt], true
	case o.Seen != objectstate.CreationRef{}:
		return o.Seen.Name, o.Seen.Mark, true
	case cold.Made != objectstate.CreationRef{}:
		return cold.Made.Name, cold.Made.Mark, true
	default:
		return "", "", o.Creation == createdHere
	}
}

// unrecorded says whether a creation succeeded, and that could not be stored yet.
func (t *coldState) unrecorded() bool {
	return strings.HasSuffix(t.Unwritten[meta.AnnotationKeyCreateAttempt], "/"+attemptSucceeded)
}

// listAll returns the objects that the API server itself has and the memory knows of. Who may
// not list all namespaces lists those of the objects that it knows.
func (r *Reconciler) listAll(ctx context.Context) (map[types.NamespacedName]resource.Managed, error) {
	live := map[types.NamespacedName]resource.Managed{}
	err := r.list(ctx, "", live)
	if !kerrors.IsForbidden(err) {
		return live, err
	}
	namespaces := map[string]struct{}{}
	r.objects.Each(func(key types.NamespacedName, _ types.UID,
		_ *objectState) {
		namespaces[key.Namespace] = struct{}{}
	})
	for namespace := range namespaces {
		if err := r.list(ctx, namespace, live); err != nil {
			return nil, err
		}
	}

	return live, nil
}

// list adds to live the objects of a namespace that the memory knows of, page by page.
func (r *Reconciler) list(ctx context.Context, namespace string, live map[types.NamespacedName]resource.Managed) error {
	for token, more := "", true; more; more = token != "" {
		page, err := r.newList()
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		err = r.cluster.GetAPIReader().List(limited, page, client.InNamespace(namespace),
			client.Limit(writeBackPage), client.Continue(token))
		cancel()
		if err != nil {
			return err
		}
		token = page.GetContinue()
		err = apimeta.EachListItem(page, func(o runtime.Object) error {
			if mg, ok := o.(resource.Managed); ok &&
				r.objects.Peek(client.ObjectKeyFromObject(mg), mg.GetUID()) != nil {
				live[client.ObjectKeyFromObject(mg)] = mg
			}

			return nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// newList returns an empty list of the kind.
func (r *Reconciler) newList() (client.ObjectList, error) {
	kind := schema.GroupVersionKind(r.of)
	kind.Kind += "List"
	made, err := r.cluster.GetScheme().New(kind)
	if err != nil {
		return nil, errors.Wrap(err, "cannot list a kind whose list is not registered")
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		return nil, errors.Errorf("cannot list a kind into a %T, which is no list", made)
	}

	return list, nil
}

// warnLeft tells of what was created for an object that the API server does not know any more.
func (r *Reconciler) warnLeft(d *lostRecord) {
	d.done = true
	external, attempt, anything := d.memo.known()
	if !anything {
		return
	}
	logging.Error(r.log, errors.New("the object is not in the restored state of the API server"),
		"An external resource may be left over. If nothing else manages it, delete it, or create its object again with "+
			"this external name",
		"kind", r.of.Kind, "namespace", d.key.Namespace, "name", d.key.Name, "externalName", external, "attempt",
		attempt)
}

// warnUnwritten tells of which objects the record is not stored yet, or why the objects are not
// known.
func (r *Reconciler) warnUnwritten(rest []*lostRecord, why error) {
	n := r.objects.Len()
	if why == nil {
		n, why = len(rest), rest[0].err
	}
	var names []string
	for _, d := range rest[:min(len(rest), writeBackNames)] {
		names = append(names, d.key.String())
	}
	logging.Error(r.log, redact.Error(why), "What this process knows of creations is not written back, and it ends soon. "+
		"Look for external resources of these objects before the next process creates others",
		"kind", r.of.Kind, "objects", n, "names", strings.Join(names, ", "))
}
