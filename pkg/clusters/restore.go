package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Restore says how it was noticed that an API server was restored to an earlier state, or
// that another one answers in its place: the version of a resource went back. It is the
// cause of the end of leases, and an ErrReplaced.
type Restore struct {
	// Resource is what was watched.
	Resource schema.GroupResource

	// Known is the version that the watch went on from.
	Known string

	// Answered is the version that the API server has now, which is lower.
	Answered string
}

// Error returns what was noticed.
func (r Restore) Error() string {
	return fmt.Sprintf("the API server was restored to an earlier state, or another one answers in its place: %s had version %s and are answered with %s",
		r.Resource, r.Known, r.Answered)
}

// Unwrap returns ErrReplaced.
func (r Restore) Unwrap() error { return ErrReplaced }

// Of names the resource as a controller.RestoreDetector is told of it. Its kind is not known.
func (r Restore) Of() schema.GroupKind {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Resource}
}

// OnRestored lets told be called when the API server of a configuration was restored to an
// earlier state while caches live that are made of the configuration after this. A cache would
// wait for versions of a history that is gone, without a word, until the versions of the API
// server have grown beyond them. A Cache does this for its connections, and replaces them.
//
// An API server that is restored ends the watches. Whenever a watch goes on from a version,
// but for the first one of each path, the version of the resource is asked for first, by a
// list of one object, its metadata alone. This costs one request per watch that begins anew,
// and none in between. What is not answered, as without the permission to list, says nothing.
// If the version is lower than that of the watch, told is called, and the watch is answered
// as one from a version that is too old: informers list everything anew then.
//
// It may be called by many goroutines at once, for each watch that goes on, and must not wait.
func OnRestored(config *rest.Config, told func(Restore)) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &watching{next: next, told: told, begun: map[string]struct{}{}}
	})
}

const (
	versionTimeout = 10 * time.Second
	maxVersion     = 1 << 20 // bytes of an answer
)

// A watching transport asks for the version before a watch goes on.
type watching struct {
	next http.RoundTripper
	told func(Restore)

	mu    sync.Mutex
	begun map[string]struct{} // the paths that were watched
}

var _ utilnet.RoundTripperWrapper = &watching{}

// RoundTrip sends a request.
func (w *watching) RoundTrip(r *http.Request) (*http.Response, error) {
	known, watches := watchedFrom(r)
	if !watches || !w.again(r.URL.Path) || known == "" {
		return w.next.RoundTrip(r)
	}
	answered, err := w.version(r)
	if err != nil || !freshness.IsOlder(answered, known) {
		return w.next.RoundTrip(r)
	}
	w.told(Restore{Resource: resourceOf(r.URL.Path), Known: known, Answered: answered})

	return expired(r)
}

// WrappedRoundTripper returns the transport below, which closes connections.
func (w *watching) WrappedRoundTripper() http.RoundTripper { return w.next }

// again reports whether a path was watched before. The first watch begins with what there is,
// or goes on from a version that was listed a moment ago.
func (w *watching) again(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, again := w.begun[path]
	w.begun[path] = struct{}{}

	return again
}

// watchedFrom returns whether a request is a watch, and the version that it goes on from, or
// nothing if it begins with what there is.
func watchedFrom(r *http.Request) (version string, watches bool) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.RawQuery, "watch=") { // most requests end here
		return "", false
	}
	query := r.URL.Query()
	if watch := query.Get("watch"); watch != "true" && watch != "1" {
		return "", false
	}
	if version = query.Get("resourceVersion"); version == "0" {
		return "", true
	}

	return version, true
}

// version asks for the version of what is to be watched.
func (w *watching) version(watch *http.Request) (string, error) {
	ctx, cancel := context.WithTimeout(watch.Context(), versionTimeout)
	defer cancel()
	list := watch.Clone(ctx)
	query := watch.URL.Query()
	for _, name := range []string{"watch", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds"} {
		query.Del(name)
	}
	query.Set("limit", "1")
	list.URL.RawQuery = query.Encode()
	list.Header.Del("Accept-Encoding") // the transport's own is decoded by it
	list.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	answer, err := w.next.RoundTrip(list)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxVersion))
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", errors.New(answer.Status)
	}
	listed := metav1.PartialObjectMetadataList{}
	err = json.Unmarshal(body, &listed)

	return listed.ResourceVersion, err
}

// resourceOf returns the resource that the path of a list leads to.
func resourceOf(path string) schema.GroupResource {
	of := schema.GroupResource{Resource: path[strings.LastIndex(path, "/")+1:]}
	if _, rest, ok := strings.Cut(path, "/apis/"); ok {
		of.Group, _, _ = strings.Cut(rest, "/")
	}

	return of
}

// expired returns the answer to a watch from a version that the API server does not have any
// more.
func expired(r *http.Request) (*http.Response, error) {
	status := kerrors.NewResourceExpired("the API server was restored to an earlier state: list again").Status()
	status.Kind, status.APIVersion = "Status", "v1"
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}

	return &http.Response{
		Status: fmt.Sprint(status.Code, " ", http.StatusText(int(status.Code))), StatusCode: int(status.Code),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}
