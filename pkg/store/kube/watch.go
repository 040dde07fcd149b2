package kube

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// Watch sends the existing objects as added, and then the changes. It returns 410 Expired for a resourceVersion except
// 0, unless initial events are requested, because a store keeps no history. A watch that may have missed an event also
// ends with 410 Expired: watch again. Entries that cannot be decoded are omitted and logged. The deletion of an object
// that was removed without an event, such as an expired value, is sent at the next comparison: see WithResync.
func (c *Client) Watch(ctx context.Context, list client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
	k, err := c.of(list)
	if err != nil {
		return nil, err
	}
	options := (&client.ListOptions{}).ApplyOptions(o)
	s, err := k.selection(options)
	if err != nil {
		return nil, err
	}
	raw := options.AsListOptions()
	initial := raw.SendInitialEvents != nil && *raw.SendInitialEvents
	if !initial && raw.ResourceVersion != "" && raw.ResourceVersion != "0" {
		return nil, expired("a store keeps no history: watch without a resourceVersion")
	}
	form := func(image map[string]any) (runtime.Object, error) { return k.formed(list, image) }

	return c.follow(ctx, k, s, form, initial)
}

func expired(message string) *kerrors.StatusError { return kerrors.NewResourceExpired(message) }

// formed returns an object that is typed, unstructured or metadata only, as the list is.
func (k *kind) formed(as runtime.Object, image map[string]any) (runtime.Object, error) {
	switch as.(type) {
	case *unstructured.UnstructuredList, *unstructured.Unstructured:
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(image)}, nil
	case *metav1.PartialObjectMetadataList, *metav1.PartialObjectMetadata:
		o := &metav1.PartialObjectMetadata{}

		return o, k.into(image, o)
	default:
		return k.typed(image)
	}
}

// follow starts a watch. If bookmarks is set, a bookmark follows the initial events.
func (c *Client) follow(ctx context.Context, k *kind, s selection, form form, bookmarks bool) (*watcher, error) {
	next, why, stop, err := k.entries.watch(ctx, s.prefix)
	if err != nil {
		return nil, k.answer("", err)
	}
	w := &watcher{
		kind: k, selection: s, form: form, bookmarks: bookmarks, log: c.log, next: next, why: why, halt: stop,
		known: map[string]runtime.Object{}, results: make(chan watch.Event), done: make(chan struct{}),
	}
	go w.run(ctx, c.resync)

	return w, nil
}

type form func(image map[string]any) (runtime.Object, error)

// A watcher converts events of a store to events of Kubernetes. It keeps the objects that it has reported, because an
// event of a store has neither the previous object nor whether the object is new.
type watcher struct {
	kind      *kind
	selection selection
	form      form
	bookmarks bool
	log       logr.Logger

	next func(tick <-chan time.Time) (storeEvent, bool)
	why  func() error
	halt func()

	known   map[string]runtime.Object
	synced  bool
	reached uint64 // the revision of the last reported event
	results chan watch.Event
	done    chan struct{}
	once    sync.Once
}

// ResultChan returns the channel of events.
func (w *watcher) ResultChan() <-chan watch.Event { return w.results }

// Stop ends the watch.
func (w *watcher) Stop() {
	w.once.Do(func() { close(w.done) })
	w.halt()
}

func (w *watcher) run(ctx context.Context, resync time.Duration) {
	defer close(w.results)
	defer w.halt()
	tick := make(<-chan time.Time)
	if resync > 0 {
		ticker := time.NewTicker(resync)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		h, ok := w.next(tick)
		if !ok {
			break
		}
		if h.compare {
			if !w.compare(ctx) {
				return
			}

			continue
		}
		e, ok := w.event(h)
		if ok && !w.send(e) {
			return
		}
	}
	if err := w.why(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		status := expired(err.Error()).ErrStatus
		status.Code = http.StatusGone
		w.send(watch.Event{Type: watch.Error, Object: &status})
	}
}

func (w *watcher) send(e watch.Event) bool {
	select {
	case w.results <- e:
		return true
	case <-w.done:
		return false
	}
}

// event converts an event of the store, and returns false if there is nothing to send.
func (w *watcher) event(h storeEvent) (watch.Event, bool) {
	w.reached = max(w.reached, h.Revision)
	switch {
	case h.Synced:
		return w.bookmark(h)
	case h.Err != nil:
		w.log.Error(h.Err, "leaving out of a watch what cannot be read", "kind", w.kind.GVK.Kind)

		return watch.Event{}, false
	case h.Op != store.Put:
		return w.deleted(h)
	}
	image := w.kind.show(h.image)
	if !w.selection.has(image) {
		return w.deleted(h)
	}
	o, err := w.form(image)
	if err != nil {
		w.log.Error(err, "leaving out of a watch what cannot be read", "kind", w.kind.GVK.Kind, "key", h.Key)

		return watch.Event{}, false
	}
	was := w.known[h.Key]
	w.known[h.Key] = o
	if was == nil {
		return watch.Event{Type: watch.Added, Object: o.DeepCopyObject()}, true
	}

	return watch.Event{Type: watch.Modified, Object: o.DeepCopyObject()}, true
}

func (w *watcher) deleted(h storeEvent) (watch.Event, bool) {
	was, ok := w.known[h.Key].(client.Object)
	if !ok {
		return watch.Event{}, false
	}
	delete(w.known, h.Key)
	was.SetResourceVersion(version(h.Revision))

	return watch.Event{Type: watch.Deleted, Object: was}, true
}

func (w *watcher) bookmark(h storeEvent) (watch.Event, bool) {
	first := !w.synced
	w.synced = true
	if !w.bookmarks {
		return watch.Event{}, false
	}
	o, err := w.form(map[string]any{
		"apiVersion": w.kind.GVK.GroupVersion().String(), "kind": w.kind.GVK.Kind,
		apicore.FieldMetadata: map[string]any{},
	})
	mark, ok := o.(client.Object)
	if err != nil || !ok {
		return watch.Event{}, false
	}
	mark.SetResourceVersion(version(h.Revision))
	if first {
		mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}

	return watch.Event{Type: watch.Bookmark, Object: mark}, true
}
