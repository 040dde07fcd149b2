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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	writeBackPage  = 500                    // objects per page of a list
	writeBackLimit = 4                      // objects of a kind that are written concurrently
	writeBackNames = 20                     // objects that are named in one log line
	writeBackPause = 200 * time.Millisecond // before a retry

	// When unwritten records are reported: the process may end with its lease.
	writeBackPatience = 5 * time.Second
)

// errUnderWay means that a pass over the object has not ended.
var errUnderWay = errors.New("a pass is under way")

// inFlight has the passes that are under way. It is safe for concurrent use.
type inFlight struct {
	mu sync.Mutex
	of map[types.NamespacedName]bool
}

func (u *inFlight) add(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[types.NamespacedName]bool{}
	}
	u.of[key] = true
}

func (u *inFlight) remove(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.of, key)
}

// restored returns an error once the API server was restored to an earlier state. The caches then have a state that
// was reverted, and no decision may be made any more.
func (r *Reconciler) restored() error {
	if r.restores == nil {
		return nil
	}

	return r.restores.Restored()
}

// A missingRecord is an object whose record of a creation may be missing after the restore.
type missingRecord struct {
	key     types.NamespacedName
	uid     types.UID
	state   *objectState     // the memory of the object
	current resource.Managed // the object at the API server; nil: it has to be read
	err     error            // why it was not written
	done    bool
}

// writeBack stores records of creations in an API server that was restored to an earlier state. It stores the records
// that this process knows and the next process would not know, because that process would create existing resources
// again. No pass begins any more. An object whose pass is in progress is skipped until the pass has ended.
func (r *Reconciler) writeBack(ctx context.Context) {
	if r.objects.Len() == 0 {
		return
	}
	var rest []*missingRecord
	var err error
	listed, written := false, 0
	retry(ctx, func() bool {
		if !listed {
			rest, err = r.missingRecords(ctx)
		}
		if listed = err == nil; listed {
			written += r.writeRecords(ctx, rest)
			rest = slices.DeleteFunc(rest, func(d *missingRecord) bool { return d.done })
		}

		return listed && len(rest) == 0
	}, func() { r.warnUnwritten(rest, err) })
	r.log.Info("The API server was restored: records of creations that it had forgotten were written back", "kind",
		r.of.Kind, "objects", written)
}

// retry calls try until it succeeds, or ctx ends. If it does not succeed, tell is called: soon, because the process
// may end earlier, and in the end.
func retry(ctx context.Context, try func() bool, tell func()) {
	soon, cancel := context.WithTimeout(ctx, writeBackPatience)
	defer cancel()
	for reported := false; !try(); {
		ended := sleep(ctx, writeBackPause) != nil
		if ended || !reported && soon.Err() != nil {
			reported = true
			tell()
		}
		if ended {
			return
		}
	}
}

// missingRecords returns the objects that both the memory and the API server have, because they may need a write. It
// emits warnings about objects that only the memory has.
func (r *Reconciler) missingRecords(ctx context.Context) ([]*missingRecord, error) {
	live, err := r.listAll(ctx)
	if err != nil {
		return nil, errors.Wrap(err, "cannot list the objects of the API server")
	}

	return r.compare(ctx, live), nil
}

// listAll lists the objects from the API server, and returns those that the memory knows. Without permission to list
// all namespaces it lists the namespaces of the known objects.
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

// list adds the known objects of a namespace to live, page by page.
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

// compare returns the objects that the API server has, and emits warnings about the others.
func (r *Reconciler) compare(ctx context.Context,
	live map[types.NamespacedName]resource.Managed) (all []*missingRecord) {
	r.objects.Each(func(key types.NamespacedName, uid types.UID, o *objectState) {
		d := &missingRecord{key: key, uid: uid, state: o}
		if r.inFlight.has(key) { // only the pass may read the memory of its object
			all = append(all, d)

			return
		}
		d.state = r.recollect(ctx, d)
		if d.current = live[key]; d.current == nil || d.current.GetUID() != uid {
			r.warnNotWrittenBack(d)
		} else {
			all = append(all, d)
		}
	})

	return all
}

// recollect returns the memory of an object. If there was no pass over the object yet, it derives the memory from the
// cached object, because the restore has not changed the cache.
func (r *Reconciler) recollect(ctx context.Context, d *missingRecord) *objectState {
	cached := r.newManaged()
	if _, _, anything := d.state.known(); anything || d.state.Gone ||
		r.client.Get(ctx, d.key, cached, withoutDeepCopy...) != nil || cached.GetUID() != d.uid {
		return d.state
	}
	shown := (&objectState{}).acquire(r.objects.unused)
	shown.Seen = attempt.Creation(cached, cached)
	if attempt.OwnUnresolved(cached) {
		shown.Called = intentOf(cached)
	}
	shown.Operation = operationOf(cached)
	o := r.objectOf(cached, cached, shown)
	o.keepIdentity()

	return shown
}

// writeRecords tries once to write the record of each object whose pass has ended, and returns the number of written
// records.
func (r *Reconciler) writeRecords(ctx context.Context, all []*missingRecord) (written int) {
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

// writeRecord writes the record of one object, and reads the object before if necessary. It reports whether anything
// was missing.
func (r *Reconciler) writeRecord(ctx context.Context, d *missingRecord) (written bool) {
	if r.inFlight.has(d.key) {
		d.err = errUnderWay

		return false
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if d.current == nil {
		d.current = r.newManaged()
		d.err = r.cluster.GetAPIReader().Get(ctx, d.key, d.current)
		switch {
		case d.err == nil && client.ObjectKeyFromObject(d.current) != d.key:
			d.err = errNotAbout(d.key)
		case gone.Answered(d.err, d.key.Name) || d.err == nil && d.current.GetUID() != d.uid:
			r.warnNotWrittenBack(d)

			return false
		}
	}
	if d.err == nil {
		written, d.err = r.writeMissing(ctx, d)
	}
	if d.done = d.err == nil; !d.done {
		d.current = nil // it may have changed meanwhile
	}

	return written
}

// has reports whether a pass over the object is in progress.
func (u *inFlight) has(key types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.of[key]
}

// warnNotWrittenBack emits a warning about a resource whose object the API server no longer has.
func (r *Reconciler) warnNotWrittenBack(d *missingRecord) {
	d.done = true
	external, attempt, anything := d.state.known()
	if !anything {
		return
	}
	logging.Error(r.log, errors.New("the object is not in the restored state of the API server"),
		"An external resource may be left over. If nothing else manages it, delete it, or create its object again with "+
			"this external name",
		"kind", r.of.Kind, "namespace", d.key.Namespace, "name", d.key.Name, "externalName", external, "attempt",
		attempt)
}

// known returns the external name of the resource that was or may have been created for the object, and the attempt.
// Either may be unknown. The last result reports whether anything is known.
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

// unrecorded reports whether a creation succeeded and its result could not be stored yet.
func (t *coldState) unrecorded() bool {
	return strings.HasSuffix(t.Unwritten[meta.AnnotationKeyCreateAttempt], "/"+attempt.Succeeded)
}

// writeMissing writes the record of a creation, and the identity of its external system, if the memory has them and
// the object does not.
func (r *Reconciler) writeMissing(ctx context.Context, d *missingRecord) (written bool, err error) {
	p := creationRecord{object: r.objectOf(d.current, clone(d.current), d.state.acquire(r.objects.unused))}
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

// warnUnwritten logs the objects whose record is not stored yet, or why the objects are unknown.
func (r *Reconciler) warnUnwritten(rest []*missingRecord, why error) {
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
