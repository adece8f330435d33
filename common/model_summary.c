/* First what names tell (kinds, indexes, parts), then one header after the other, set by set. */
#include "common/model_summary.h"

#include "common/fdio.h"
#include "common/gguf.h"
#include "common/junk.h"
#include "common/lfs_pointer.h"
#include "common/model_card.h"
#include "common/model_config.h"
#include "common/model_parts.h"
#include "common/model_reader.h"
#include "common/path.h"
#include "common/safetensors.h"
#include "proto/bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A download that reserved its space has zeros here; no format that is looked at has. */
#define HEAD_BYTES 4096

struct work {
    struct model_summary *summary;
    const struct model_source *source;
    struct model_parts parts;
    uint64_t tensors_of_set, tensors_announced; /* of the set that is read, from split.tensors.count */
    bool is_set_whole;
};

static bool is_cancelled(const struct work *work)
{
    return work->source->cancelled && atomic_load(work->source->cancelled);
}

static void add_finding(struct work *work, const char *path, const struct finding *finding)
{
    finding_list_add(&work->summary->findings, path, finding);
}

/* Opens a file as a reader; -1 leaves a finding, unless the file is elsewhere. Drop *fd at the end. */
static int open_reader(struct work *work, const struct file_entry *file, int *fd, struct model_reader *reader)
{
    struct finding why;
    *fd = work->source->open(work->source->context, file);
    if (*fd == MODEL_FILE_ELSEWHERE)
        return -1;
    if (*fd < 0) {
        (void)finding_set(&why, FINDING_UNREADABLE, "cannot be opened: %s", strerror(errno));
        add_finding(work, file->path, &why);
        return -1;
    }
    *reader = model_reader_of_fd(*fd, file->size);
    return 0;
}

/* -- the start of a file -- */

static int check_pointer(const char *head, size_t length, struct finding *why)
{
    struct lfs_pointer pointer;
    if (!lfs_pointer_parse(&pointer, head, length))
        return 0;
    return finding_set(why, FINDING_LFS_POINTER,
                       "is a Git LFS pointer: the file of %" PRIu64
                       " bytes that it stands for was not fetched",
                       pointer.size);
}

/* Looks for what stands in the place of weights. */
static int check_head(const struct model_reader *in, bool has_signature, struct finding *why)
{
    char head[HEAD_BYTES];
    size_t length = in->size < sizeof head ? (size_t)in->size : sizeof head;
    bool may_be_pointer = in->size < LFS_POINTER_MAX;
    if (length == 0 || (!has_signature && !may_be_pointer))
        return 0;
    if (model_reader_get(in, head, length, 0, why) < 0)
        return -1;
    if (has_signature && is_zero((const uint8_t *)head, length))
        return finding_set(why, FINDING_ZERO_HEADER, "begins with %zu zeros: it was never written", length);
    return may_be_pointer ? check_pointer(head, length, why) : 0;
}

/* -- weights -- */

static int read_safetensors(struct model_set *set, const struct model_reader *in, struct finding *why)
{
    struct safetensors header;
    int result = safetensors_read(&header, in, why);
    dtype_mix_merge(&set->mix, &header.mix);
    set->packed_elements = saturating_add(set->packed_elements, header.packed_elements);
    set->packed_bits = saturating_add(set->packed_bits, header.packed_bits);
    set->auxiliary_elements = saturating_add(set->auxiliary_elements, header.auxiliary_elements);
    return result;
}

/* What the header says of its place among others, against what the name says. */
static int check_split(const struct gguf *header, const struct part *part, struct finding *why)
{
    if (header->split_count < 2)
        return 0;
    if (!part->has_name)
        return finding_set(why, FINDING_MISSING_SHARD,
                           "is part %" PRIu64 " of %" PRIu64
                           " by its header; under this name no loader finds the others",
                           saturating_add(header->split_number, 1), header->split_count);
    if (header->split_count != part->name.total ||
        saturating_add(header->split_number, 1) != part->name.number)
        return finding_set(why, FINDING_BAD_HEADER, "is part %" PRIu64 " of %" PRIu64 " by its header",
                           saturating_add(header->split_number, 1), header->split_count);
    return 0;
}

static int read_gguf(struct work *work, struct model_set *set, const struct part *part,
                     const struct model_reader *in, struct finding *why)
{
    struct gguf header;
    int result = gguf_read(&header, in, why);
    dtype_mix_merge(&set->mix, &header.mix);
    model_facts_complete(&set->facts, &header.facts);
    set->is_auxiliary |= header.is_auxiliary;
    work->tensors_of_set = saturating_add(work->tensors_of_set, dtype_mix_total(&header.mix).tensors);
    if (header.split_tensors > 0)
        work->tensors_announced = header.split_tensors;
    return result == 0 ? check_split(&header, part, why) : result;
}

static int read_header(struct work *work, struct model_set *set, const struct part *part,
                       const struct model_reader *in, struct finding *why)
{
    if (check_head(in, set->format != WEIGHTS_RAW, why) < 0)
        return -1;
    if (set->format == WEIGHTS_SAFETENSORS)
        return read_safetensors(set, in, why);
    if (set->format == WEIGHTS_GGUF)
        return read_gguf(work, set, part, in, why);
    return 0;
}

static void read_weights(struct work *work, struct model_set *set, const struct part *part)
{
    const struct file_entry *file = part->file;
    struct model_reader reader;
    struct finding why;
    int fd;
    set->files++;
    set->bytes = saturating_add(set->bytes, file->size);
    if (open_reader(work, file, &fd, &reader) < 0) {
        work->is_set_whole = false;
        return;
    }
    if (read_header(work, set, part, &reader, &why) < 0) {
        add_finding(work, file->path, &why);
        work->is_set_whole = false;
    }
    fdio_drop(&fd);
}

/* -- sets -- */

/* Bits of a parameter in quantised layers; 0 if nothing is known of them. */
static uint64_t packed_parameter_bits(const struct model_facts *facts)
{
    if (facts->quantization_bits > 0 && facts->quantization_bits <= 32)
        return facts->quantization_bits;
    return strcmp(facts->quantization, "mxfp4") == 0 ? 4 : 0;
}

static void count_parameters(struct model_set *set, const struct model_facts *config)
{
    struct dtype_use total = dtype_mix_total(&set->mix);
    uint64_t bits = packed_parameter_bits(config);
    uint64_t others = saturating_add(set->packed_elements, set->auxiliary_elements);
    set->parameters = total.elements;
    if (bits > 0 && set->packed_elements > 0 && others <= total.elements)
        set->parameters = saturating_add(total.elements - others, set->packed_bits / bits);
    set->load_bytes = total.tensors > 0 ? total.bytes : set->bytes;
}

/* A series of GGUF parts says how many tensors it has in all. */
static void check_tensors_of_parts(struct work *work, const struct part *first)
{
    struct finding why;
    if (!work->is_set_whole || work->tensors_announced == 0 ||
        work->tensors_announced == work->tensors_of_set)
        return;
    (void)finding_set(&why, FINDING_BAD_HEADER,
                      "and its other parts have %" PRIu64 " tensors; %" PRIu64 " should be there",
                      work->tensors_of_set, work->tensors_announced);
    add_finding(work, first->file->path, &why);
}

static struct model_set *add_set(struct model_summary *summary, const struct part *first)
{
    size_t count = summary->set_count;
    if ((count & (count - 1)) == 0) {
        summary->sets = realloc(summary->sets, (count ? 2 * count : 1) * sizeof *summary->sets);
        if (!summary->sets)
            abort();
    }
    struct model_set *set = &summary->sets[summary->set_count++];
    *set = (struct model_set){.format = weights_format_of(first->file->path)};
    set->name = strdup(first->index ? first->index : first->file->path);
    if (!set->name)
        abort();
    return set;
}

static void read_set(struct work *work, const struct part *parts, size_t count)
{
    struct model_summary *summary = work->summary;
    work->is_set_whole = model_parts_check_series(parts, count, &summary->findings);
    if (summary->set_count == MODEL_SETS_MAX) {
        summary->sets_omitted++;
        return;
    }
    struct model_set *set = add_set(summary, &parts[0]);
    work->tensors_of_set = work->tensors_announced = 0;
    for (size_t i = 0; i < count && !is_cancelled(work); i++)
        read_weights(work, set, &parts[i]);
    if (!is_cancelled(work))
        check_tensors_of_parts(work, &parts[0]);
    count_parameters(set, &summary->facts);
    dtype_mix_merge(&summary->mix, &set->mix);
}

static void read_sets(struct work *work)
{
    struct model_parts *parts = &work->parts;
    for (size_t i = 0, next; i < parts->count && !is_cancelled(work); i = next) {
        next = model_parts_next_set(parts, i);
        read_set(work, parts->items + i, next - i);
    }
}

/* -- what one would load -- */

static bool is_before(const struct model_set *a, const struct model_set *b)
{
    if ((a->parameters > 0) != (b->parameters > 0))
        return a->parameters > 0;
    if (a->is_auxiliary != b->is_auxiliary)
        return b->is_auxiliary;
    return a->load_bytes != b->load_bytes ? a->load_bytes > b->load_bytes : a < b;
}

static bool same_folder(const char *a, const char *b)
{
    size_t length = path_folder_length(a);
    return length == path_folder_length(b) && memcmp(a, b, length) == 0;
}

/* Whether no other set, of the same folder if `by_folder`, goes before it. */
static bool is_first(const struct model_summary *summary, const struct model_set *set, bool by_folder)
{
    for (size_t i = 0; i < summary->set_count; i++) {
        const struct model_set *other = &summary->sets[i];
        if (other != set && is_before(other, set) && (!by_folder || same_folder(other->name, set->name)))
            return false;
    }
    return true;
}

static void choose_main(struct model_summary *summary, bool is_pipeline)
{
    for (size_t i = 0; i < summary->set_count; i++) {
        const struct model_set *set = &summary->sets[i];
        if (is_first(summary, set, false))
            summary->main_set = set;
        if (!is_first(summary, set, is_pipeline))
            continue;
        summary->parameters = saturating_add(summary->parameters, set->parameters);
        summary->load_bytes = saturating_add(summary->load_bytes, set->load_bytes);
    }
    if (summary->main_set)
        model_facts_complete(&summary->facts, &summary->main_set->facts);
    summary->kv_bytes_of_token = model_facts_kv_bytes(&summary->facts);
}

/* -- other files -- */

static void read_config(struct work *work, const struct file_entry *file)
{
    struct model_facts facts;
    struct model_reader reader;
    struct finding why;
    int fd;
    if (open_reader(work, file, &fd, &reader) < 0)
        return;
    if (model_config_read(&facts, &reader, &why) < 0)
        add_finding(work, file->path, &why);
    model_facts_complete(&work->summary->facts, &facts);
    fdio_drop(&fd);
}

static void read_card(struct work *work, const struct file_entry *file)
{
    struct model_reader reader;
    struct finding why;
    int fd;
    if (open_reader(work, file, &fd, &reader) < 0)
        return;
    size_t length = reader.size < MODEL_CARD_MAX ? (size_t)reader.size : MODEL_CARD_MAX;
    char *text = malloc(length + 1);
    if (!text)
        abort();
    if (model_reader_get(&reader, text, length, 0, &why) < 0)
        add_finding(work, file->path, &why);
    else
        model_card_licence(text, length, work->summary->facts.licence);
    free(text);
    fdio_drop(&fd);
}

static void read_index(struct work *work, const struct file_entry *file)
{
    struct model_index index;
    struct model_reader reader;
    struct finding why;
    int fd;
    if (open_reader(work, file, &fd, &reader) < 0)
        return;
    int result = model_index_read(&index, &reader, &why);
    if (result == 0 && !model_parts_add_index(&work->parts, file->path, &index))
        result = finding_set(&why, FINDING_NOT_CHECKED, "is not checked: the model has too many indexes");
    if (result < 0)
        add_finding(work, file->path, &why);
    model_index_release(&index);
    fdio_drop(&fd);
}

/* Vocabularies, too, are kept in LFS. */
static void check_small(struct work *work, const struct file_entry *file)
{
    struct model_reader reader;
    struct finding why;
    int fd;
    if (file->size == 0 || file->size >= LFS_POINTER_MAX || open_reader(work, file, &fd, &reader) < 0)
        return;
    if (check_head(&reader, false, &why) < 0)
        add_finding(work, file->path, &why);
    fdio_drop(&fd);
}

static void look_at(struct work *work, const struct file_entry *file)
{
    enum file_kind kind = file_kind_of(file->path);
    struct finding why;
    work->summary->kinds[kind].files++;
    work->summary->kinds[kind].bytes = saturating_add(work->summary->kinds[kind].bytes, file->size);
    if (junk_is_unfinished(path_name(file->path))) {
        (void)finding_set(&why, FINDING_UNFINISHED, "is a download that has not ended");
        add_finding(work, file->path, &why);
    }
    if (strcmp(file->path, "config.json") == 0)
        read_config(work, file);
    else if (strcmp(file->path, "README.md") == 0)
        read_card(work, file);
    else if (has_ending(file->path, ".index.json"))
        read_index(work, file);
    else if (kind == FILE_TOKENIZER)
        check_small(work, file);
    else if (kind == FILE_WEIGHTS)
        model_parts_add_file(&work->parts, file);
}

void model_summary_read(struct model_summary *summary, const struct model_source *source)
{
    struct work work = {.summary = summary, .source = source};
    bool is_pipeline = false;
    *summary = (struct model_summary){0};
    for (size_t i = 0; i < source->files->count && !is_cancelled(&work); i++) {
        look_at(&work, &source->files->files[i]);
        is_pipeline |= strcmp(source->files->files[i].path, "model_index.json") == 0;
    }
    model_parts_arrange(&work.parts);
    model_parts_check_indexes(&work.parts, source->files, &summary->findings);
    read_sets(&work);
    choose_main(summary, is_pipeline);
    model_parts_release(&work.parts);
}

void model_summary_release(struct model_summary *summary)
{
    for (size_t i = 0; i < summary->set_count; i++)
        free(summary->sets[i].name);
    free(summary->sets);
    finding_list_release(&summary->findings);
    *summary = (struct model_summary){0};
}
