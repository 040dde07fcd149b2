// Package objectstore is a client of the API of an object store.
package objectstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// A Bucket is a bucket as the API returns it.
type Bucket struct {
	Name       string `json:"name"`
	QuotaGiB   int32  `json:"quotaGiB"`
	Versioning bool   `json:"versioning"`
	Tag        string `json:"tag"`               // any text, for the clients of the API
	Objects    int64  `json:"objects,omitempty"` // how many are stored; the object store counts them
}

// Errors of the API that have a meaning of their own.
var (
	ErrNotFound = errors.New("the bucket does not exist")
	ErrConflict = errors.New("a bucket of that name exists already")
	ErrInvalid  = errors.New("the object store rejects the settings of the bucket")

	// ErrUnavailable says nothing about a bucket: there is no response of the API.
	ErrUnavailable = errors.New("the object store is unavailable")
)

// maxBody is the size limit of a response, in bytes.
const maxBody = 1 << 20

// A Client calls the API. It may be used concurrently.
type Client struct {
	URL   string
	Token string
}

// Get returns a bucket.
func (c Client) Get(ctx context.Context, name string) (Bucket, error) {
	var b Bucket

	return b, c.call(ctx, http.MethodGet, "/buckets/"+url.PathEscape(name), nil, &b)
}

// Create creates a bucket.
func (c Client) Create(ctx context.Context, b Bucket) error {
	return c.call(ctx, http.MethodPost, "/buckets", b, nil)
}

// Update changes a bucket.
func (c Client) Update(ctx context.Context, b Bucket) error {
	return c.call(ctx, http.MethodPatch, "/buckets/"+url.PathEscape(b.Name), b, nil)
}

// Delete deletes a bucket.
func (c Client) Delete(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/buckets/"+url.PathEscape(name), nil, nil)
}

// call sends a request and decodes the response into answer, unless that is nil.
func (c Client) call(ctx context.Context, method, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	// Following a redirect would turn a POST into a GET, and send the token to another server.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	if err := responseError(response); err != nil || answer == nil {
		return err
	}
	if !isJSON(response) {
		return fmt.Errorf("%w: the response is not JSON", ErrUnavailable)
	}

	return json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(answer)
}

// responseError returns the error that a response stands for. The API reports an error as
// JSON with the field "error". A response without that field comes from a proxy or from
// another service at this URL: its 404 does not mean that the bucket does not exist, and
// its text is not shown.
func responseError(response *http.Response) error {
	var body struct {
		Error string `json:"error"`
	}
	code := response.StatusCode
	if code >= http.StatusMultipleChoices && isJSON(response) {
		// A body that is not valid JSON counts as one without the field.
		_ = json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&body)
	}
	switch {
	case code < http.StatusMultipleChoices:
		return nil
	case code < http.StatusBadRequest:
		return fmt.Errorf("%w: its URL redirects (%d), and redirects are not followed: "+
			"configure the URL of the API itself", ErrUnavailable, code)
	case body.Error == "":
		return fmt.Errorf("%w: another server responds %d", ErrUnavailable, code)
	case code == http.StatusNotFound:
		return ErrNotFound
	case code == http.StatusConflict:
		return ErrConflict
	case code == http.StatusUnprocessableEntity:
		return ErrInvalid
	default: // the result is unknown: the request may have been carried out, even with a 408
		return fmt.Errorf("the object store responds %d: %.200s", code, body.Error)
	}
}

// isJSON returns whether the media type of a response is that of JSON, which the API always uses.
func isJSON(response *http.Response) bool {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))

	return media == "application/json"
}
