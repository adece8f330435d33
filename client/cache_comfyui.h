/* The section of ComfyUI's extra_model_paths.yaml that makes what is in the local tier visible there: a
 * base_path, and below each category the folders to look in, one a line (ComfyUI,
 * extra_model_paths.yaml.example and utils/extra_config.py). */
#ifndef CLIENT_CACHE_COMFYUI_H
#define CLIENT_CACHE_COMFYUI_H

#include "client/cache_survey.h"

/* Prints it on standard output: the folders of complete models that are called as a category is, at the top
 * or in `models` or `split_files`, as trees of ComfyUI and repackaged models on the Hub have them. */
void cache_comfyui_print(const struct cache_survey *survey);

#endif
